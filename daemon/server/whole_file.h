// WholeFile: a file that is either complete or absent.
//
// The file is written beside its place, made durable, and then renamed. A process that dies at any
// moment leaves the previous file. It may also leave an unfinished `PATH.part`, which the next
// writer overwrites.
//
// Blocks for the disk. One thread at a time. Error: disk, if there is no room or the disk is
// broken.
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
    // The folder of `path` must exist.
    static base::Result<WholeFile> create(const std::string& path);
    // Removes the file unless it was committed.
    ~WholeFile();
    WholeFile(WholeFile&&) = default;
    WholeFile& operator=(WholeFile&&) = delete;

    base::Result<> write(std::span<const std::byte> bytes);
    // Makes the file complete and durable, and gives it its name.
    base::Result<> commit();
    const std::string& path() const { return path_; }

  private:
    WholeFile(std::string path, base::UniqueFd fd);

    std::string path_;
    std::string part_;  // where it is written
    base::UniqueFd fd_;
};

// Writes a whole file with these bytes.
base::Result<> write_whole(const std::string& path, std::span<const std::byte> bytes);
// Reads a whole file. Error: limit, if it has more than `bytes_max`.
base::Result<std::vector<std::byte>> read_whole(const std::string& path, size_t bytes_max);

// Makes the names in a folder durable. 0, or why that failed.
int sync_names(const std::string& folder);
// Does nothing if the file cannot be removed.
void remove_file(const std::string& path);

// Opens a regular file for reading. Does not follow links.
base::Result<base::UniqueFd> open_regular(const std::string& path);
// Reads as many bytes as there are, at most bytes.size(). Returns 0 at the end.
base::Result<size_t> read_some(int fd, std::span<std::byte> bytes, const std::string& path);

}  // namespace pace::server
