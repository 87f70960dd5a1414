// PackedWriter, PackedReader: a file of bytes, compressed and with a checksum by Zstandard, that is either whole or not there.
//
// It is written beside its place, made durable, and then given its name: a process that dies at any moment leaves what was there
// before. What it leaves of the unfinished one, `PATH.part`, the next one overwrites.
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

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace pace::server {

class PackedWriter {
  public:
    // In a folder that is there.
    static base::Result<std::unique_ptr<PackedWriter>> create(const std::string& path);
    // Removes what was not committed.
    ~PackedWriter();
    PackedWriter(const PackedWriter&) = delete;
    PackedWriter& operator=(const PackedWriter&) = delete;

    // ErrorKind::disk: no room, or a broken disk.
    base::Result<> write(std::span<const std::byte> bytes);
    // All is written and durable, and the file has its name.
    base::Result<> commit();

  private:
    PackedWriter(std::string path, base::UniqueFd fd);
    base::Result<> compress(std::span<const std::byte> bytes, bool last);

    std::string path_;
    base::UniqueFd fd_;
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
    base::Result<size_t> fill(std::span<std::byte> bytes);
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
