#include "base/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace pace::base {

namespace {

// Without O_NONBLOCK, a pipe would block the start forever.
UniqueFd open_to_read(const std::string& path) {
    return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

std::string name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

// systemd refuses an empty credential in a unit, so that "none" is written as a line without text.
constexpr off_t kNoneBytesMax = 1;

// The credential with the file's name; not valid if systemd has passed none.
UniqueFd open_credential(const std::string& name) {
    const char* const folder = std::getenv("CREDENTIALS_DIRECTORY");
    if (folder == nullptr || name.empty()) return UniqueFd();
    UniqueFd fd = open_to_read(fmt::format("{}/{}", folder, name));
    struct stat status {};
    if (!fd.valid() || fstat(fd.get(), &status) != 0 || status.st_size <= kNoneBytesMax)
        return UniqueFd();
    return fd;
}

Error not_readable(std::string_view what, const std::string& path, int error) {
    if (error != EACCES && error != EPERM)
        return make_errno_error(error, fmt::format("open {} {}", what, path));
    const std::string name = name_of(path);
    return Error{ErrorKind::denied,
                 fmt::format("user {} may not read {} {}, and systemd passes no credential {}; "
                             "have the unit load it (systemctl edit: [Service] "
                             "LoadCredential={}:{}), or give the file to this user",
                             geteuid(), what, path, name, name, path)};
}

// The group may read: service managers pass credentials in this way.
Result<> check(std::string_view what, const std::string& path, int fd) {
    struct stat status {};
    if (fstat(fd, &status) != 0)
        return make_errno_error(errno, fmt::format("look at {} {}", what, path));
    if (!S_ISREG(status.st_mode))
        return make_error(ErrorKind::invalid, "{} {} is no regular file", what, path);
    if ((status.st_mode & (S_IRWXO | S_IWGRP)) == 0) return {};
    return make_error(ErrorKind::denied,
                      "{} {} has mode {:04o}: others could read or change the secret; run: "
                      "chmod 600 {}",
                      what, path, status.st_mode & 07777U, path);
}

}  // namespace

Result<UniqueFd> open_secret_file(std::string_view what, const std::string& path) {
    UniqueFd fd = open_to_read(path);
    if (!fd.valid()) {
        const int error = errno;
        fd = open_credential(name_of(path));
        if (!fd.valid()) return not_readable(what, path, error);
    }
    PACE_TRY(check(what, path, fd.get()));
    return fd;
}

}  // namespace pace::base
