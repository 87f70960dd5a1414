// PackedWriter, PackedReader: a WholeFile compressed and checksummed by Zstandard.
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
    // The folder of `path` must exist.
    static base::Result<std::unique_ptr<PackedWriter>> create(const std::string& path);

    // Error: disk, if there is no room or the disk is broken.
    base::Result<> write(std::span<const std::byte> bytes);
    // Makes the file complete and durable, and gives it its name.
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
    // Also verifies the checksum.
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
