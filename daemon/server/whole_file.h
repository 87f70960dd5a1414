// WholeFile: a file that is either whole or not there.
//
// It is written beside its place, made durable, and then given its name: a process that dies at any moment leaves what was there
// before. What it leaves of the unfinished one, `PATH.part`, the next one overwrites.
//
// Blocks for the disk. One thread at a time. ErrorKind::disk: no room, or a broken disk.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::server {

class WholeFile {
  public:
    // In a folder that is there.
    static base::Result<WholeFile> create(const std::string& path);
    // Removes what was not committed.
    ~WholeFile();
    WholeFile(WholeFile&&) = default;
    WholeFile& operator=(WholeFile&&) = delete;

    base::Result<> write(std::span<const std::byte> bytes);
    // All is written and durable, and the file has its name.
    base::Result<> commit();
    const std::string& path() const { return path_; }

  private:
    WholeFile(std::string path, base::UniqueFd fd);

    std::string path_;
    base::UniqueFd fd_;
};

// With these bytes.
base::Result<> write_whole(const std::string& path, std::span<const std::byte> bytes);
// ErrorKind::limit if it has more than `bytes_max`.
base::Result<std::vector<std::byte>> read_whole(const std::string& path, size_t bytes_max);

// A regular file, for reading; not through a link.
base::Result<base::UniqueFd> open_regular(const std::string& path);
// As many bytes as there are, up to the span's; 0 at the end.
base::Result<size_t> read_some(int fd, std::span<std::byte> bytes, const std::string& path);

}  // namespace pace::server
