#include "base/result.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace pace::base {

// NOLINTNEXTLINE(readability-function-size): a table of names
std::string_view error_kind_name(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::invalid:
            return "invalid";
        case ErrorKind::handle:
            return "handle";
        case ErrorKind::verb:
            return "verb";
        case ErrorKind::mismatch:
            return "mismatch";
        case ErrorKind::not_found:
            return "not-found";
        case ErrorKind::taken:
            return "taken";
        case ErrorKind::version:
            return "version";
        case ErrorKind::unavailable:
            return "unavailable";
        case ErrorKind::no_controller:
            return "no-controller";
        case ErrorKind::limit:
            return "limit";
        case ErrorKind::memory:
            return "memory";
        case ErrorKind::disk:
            return "disk";
        case ErrorKind::denied:
            return "denied";
        case ErrorKind::timeout:
            return "timeout";
        case ErrorKind::aborted:
            return "aborted";
        case ErrorKind::canceled:
            return "canceled";
        case ErrorKind::closed:
            return "closed";
        case ErrorKind::corrupt:
            return "corrupt";
        case ErrorKind::interrupted:
            return "interrupted";
        case ErrorKind::internal:
            return "internal";
    }
    return "unknown";
}

namespace {

ErrorKind kind_of_errno(int error_number) {
    switch (error_number) {
        case ENOSPC:
        case EDQUOT:
        case EIO:
        case EROFS:
            return ErrorKind::disk;
        case ENOMEM:
            return ErrorKind::memory;
        case EFBIG:  // RLIMIT_FSIZE
        case EMFILE:
        case ENFILE:
            return ErrorKind::limit;
        case EACCES:
        case EPERM:
            return ErrorKind::denied;
        case ENOENT:
            return ErrorKind::not_found;
        case EADDRINUSE:
        case EEXIST:
            return ErrorKind::taken;
        case ECONNREFUSED:
        case ECONNRESET:
        case EPIPE:
        case ENOTCONN:
            return ErrorKind::unavailable;
        case ETIMEDOUT:
            return ErrorKind::timeout;
        case EINVAL:
            return ErrorKind::invalid;
        default:
            return ErrorKind::internal;
    }
}

}  // namespace

Error make_errno_error(int error_number, std::string_view what) {
    std::array<char, 128> text{};
    const char* reason = strerror_r(error_number, text.data(), text.size());
    return make_error(kind_of_errno(error_number), "{}: {}", what, reason);
}

}  // namespace pace::base
