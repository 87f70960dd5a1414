// PackedWriter, PackedReader: a WholeFile of bytes, compressed and with a checksum by Zstandard.
//
// Blocks for the disk. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/server/byte_reader.h"
#include "daemon/server/whole_file.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace pace::server {

class PackedWriter {
  public:
    // In a folder that is there.
    static base::Result<std::unique_ptr<PackedWriter>> create(const std::string& path);

    // ErrorKind::disk: no room, or a broken disk.
    base::Result<> write(std::span<const std::byte> bytes);
    // All is written and durable, and the file has its name.
    base::Result<> commit();

  private:
    explicit PackedWriter(WholeFile file);
    base::Result<> compress(std::span<const std::byte> bytes, bool last);

    WholeFile file_;
    std::unique_ptr<ZSTD_CCtx_s, size_t (*)(ZSTD_CCtx_s*)> context_;
    std::vector<std::byte> packed_;
};

class PackedReader final : public ByteReader {
  public:
    static base::Result<std::unique_ptr<PackedReader>> open(const std::string& path);

    base::Result<> read(std::span<std::byte> bytes) override;
    // The checksum is right, too.
    base::Result<> finish() override;
    const std::string& name() const override { return name_; }

  private:
    PackedReader(std::string path, base::UniqueFd fd);
    base::Result<size_t> unpack(std::span<std::byte> bytes);

    std::string name_;
    base::UniqueFd fd_;
    std::unique_ptr<ZSTD_DCtx_s, size_t (*)(ZSTD_DCtx_s*)> context_;
    std::vector<std::byte> packed_;
    size_t used_ = 0;
    size_t have_ = 0;
    bool whole_ = false;  // the frame has ended
};

}  // namespace pace::server
