#include "service/http/secret.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/secret_file.h"
#include "base/unique_fd.h"

namespace pace::http {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr size_t kFileBytesMax = size_t{64} << 10U;
constexpr size_t kTokenBytesMin = 16;
constexpr size_t kTokenBytesMax = 256;

// Without O_NONBLOCK, a pipe would block the start forever.
Result<base::UniqueFd> open_regular(std::string_view setting, const std::string& path) {
    base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return base::make_errno_error(errno, fmt::format("open {} {}", setting, path));
    struct stat about {};
    if (fstat(fd.get(), &about) != 0)
        return base::make_errno_error(errno, fmt::format("look at {} {}", setting, path));
    if (!S_ISREG(about.st_mode))
        return make_error(ErrorKind::invalid, "{} {} is no regular file", setting, path);
    return fd;
}

Result<std::string> read_all(std::string_view setting, const std::string& path, int fd) {
    std::string text(kFileBytesMax + 1, '\0');
    size_t had = 0;
    while (had < text.size()) {
        const ssize_t got = read(fd, text.data() + had, text.size() - had);
        if (got < 0) return base::make_errno_error(errno, fmt::format("read {} {}", setting, path));
        if (got == 0) break;
        had += static_cast<size_t>(got);
    }
    if (had > kFileBytesMax)
        return make_error(ErrorKind::invalid, "{} {} has more than {} bytes; is it the right file?",
                          setting, path, kFileBytesMax);
    text.resize(had);
    return text;
}

}  // namespace

Result<std::string> read_small_file(std::string_view setting, const std::string& path) {
    PACE_TRY_ASSIGN(fd, open_regular(setting, path));
    return read_all(setting, path, fd.get());
}

Result<std::string> read_secret_file(std::string_view setting, const std::string& path) {
    PACE_TRY_ASSIGN(fd, base::open_secret_file(setting, path));
    return read_all(setting, path, fd.get());
}

Result<std::string> read_token(std::string_view setting, const std::string& path) {
    PACE_TRY_ASSIGN(text, read_secret_file(setting, path));
    if (!text.empty() && text.back() == '\n') text.pop_back();
    const bool visible =
        std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
    if (!visible || text.size() < kTokenBytesMin || text.size() > kTokenBytesMax)
        return make_error(ErrorKind::invalid,
                          "{} {} is not one line of {} to {} visible ASCII characters; make one "
                          "with: openssl rand -hex 32",
                          setting, path, kTokenBytesMin, kTokenBytesMax);
    return std::move(text);
}

bool is_same_secret(std::string_view given, std::string_view secret) {
    if (secret.empty()) return false;
    // Volatile, so that no compiler ends the loop at the first difference.
    volatile unsigned difference = given.size() == secret.size() ? 0 : 1;
    for (size_t i = 0; i < given.size(); ++i) {
        const auto a = static_cast<unsigned char>(given[i]);
        const auto b = static_cast<unsigned char>(secret[i % secret.size()]);
        difference = difference | static_cast<unsigned>(a ^ b);
    }
    return difference == 0;
}

std::string_view bearer_token(std::string_view authorization) {
    constexpr std::string_view kScheme = "Bearer ";
    if (authorization.size() < kScheme.size() ||
        strncasecmp(authorization.data(), kScheme.data(), kScheme.size()) != 0)
        return {};
    return authorization.substr(kScheme.size());
}

}  // namespace pace::http
