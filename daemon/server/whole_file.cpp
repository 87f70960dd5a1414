#include "daemon/server/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/simulation/simulated_files.h"

namespace pace::server {

using base::ErrorKind;
using base::Result;
using Kind = base::FileStep::Kind;

namespace {

std::string part_of(const std::string& path) {
    return path + ".part";
}

base::Error disk_error(const std::string& path, std::string_view doing) {
    const int number = errno;
    base::Error error = base::make_errno_error(number, fmt::format("{} {}", doing, path));
    error.kind = ErrorKind::disk;
    return error;
}

}  // namespace

WholeFile::WholeFile(std::string path, base::UniqueFd fd)
    : path_(std::move(path)), part_(part_of(path_)), fd_(std::move(fd)) {}

Result<WholeFile> WholeFile::create(const std::string& path) {
    const std::string part = part_of(path);
    base::UniqueFd fd(base::file_step({Kind::create, part}, [&] {
        return ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
    }));
    if (!fd.valid()) return disk_error(part, "create");
    return WholeFile(path, std::move(fd));
}

WholeFile::~WholeFile() {
    if (fd_.valid()) remove_file(part_);
}

Result<> WholeFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written =
            base::file_step({.kind = Kind::write, .path = part_, .bytes = bytes},
                            [&] { return ::write(fd_.get(), bytes.data(), bytes.size()); });
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return disk_error(part_, "write");
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return {};
}

Result<> WholeFile::commit() {
    if (base::file_step({Kind::sync, part_}, [this] { return fdatasync(fd_.get()); }) != 0)
        return disk_error(part_, "make durable");
    if (base::file_step({Kind::rename, part_, path_},
                        [this] { return std::rename(part_.c_str(), path_.c_str()); }) != 0)
        return disk_error(part_, "rename");
    fd_.reset();
    const auto folder = std::filesystem::absolute(path_).parent_path();
    errno = sync_names(folder);
    if (errno != 0) return disk_error(folder, "make durable");
    return {};
}

int sync_names(const std::string& folder) {
    const int synced = base::file_step({Kind::sync_folder, folder}, [&folder] {
        const base::UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!fd.valid() || fsync(fd.get()) != 0) return errno;
        return 0;
    });
    return synced < 0 ? errno : synced;
}

void remove_file(const std::string& path) {
    (void)base::file_step({Kind::remove, path}, [&path] { return ::unlink(path.c_str()); });
}

Result<> write_whole(const std::string& path, std::span<const std::byte> bytes) {
    PACE_TRY_ASSIGN(file, WholeFile::create(path));
    PACE_TRY(file.write(bytes));
    return file.commit();
}

Result<base::UniqueFd> open_regular(const std::string& path) {
    base::UniqueFd fd(base::file_step({Kind::open, path}, [&path] {
        return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }));
    struct stat status {};
    if (!fd.valid() || fstat(fd.get(), &status) != 0)
        return base::make_errno_error(errno, fmt::format("open {}", path));
    if (!S_ISREG(status.st_mode))
        return base::make_error(ErrorKind::invalid, "{} is not a regular file", path);
    return fd;
}

Result<size_t> read_some(int fd, std::span<std::byte> bytes, const std::string& path) {
    for (;;) {
        const ssize_t got = base::file_step({Kind::read, path},
                                            [&] { return ::read(fd, bytes.data(), bytes.size()); });
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return disk_error(path, "read");
        return static_cast<size_t>(got);
    }
}

Result<std::vector<std::byte>> read_whole(const std::string& path, size_t bytes_max) {
    constexpr size_t kPiece = size_t{1} << 20U;
    PACE_TRY_ASSIGN(fd, open_regular(path));
    std::vector<std::byte> bytes;
    for (;;) {
        const size_t have = bytes.size();
        bytes.resize(have + kPiece);
        PACE_TRY_ASSIGN(got, read_some(fd.get(), std::span(bytes).subspan(have), path));
        bytes.resize(have + got);
        if (got == 0) return bytes;
        if (bytes.size() > bytes_max)
            return base::make_error(ErrorKind::limit, "{} has more than {} bytes", path, bytes_max);
    }
}

}  // namespace pace::server
