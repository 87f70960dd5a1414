#include "settings/toml_document.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "settings/sources.h"

namespace pace::settings {

using base::ErrorKind;
using base::make_errno_error;
using base::make_error;
using base::Result;

Result<toml::table> parse_toml(std::string_view document, std::string_view file) {
    try {
        return toml::parse(document);
    } catch (const toml::parse_error& error) {
        return make_error(ErrorKind::invalid, "{}:{}: not TOML: {}", file,
                          error.source().begin.line, error.description());
    } catch (const TomlDefect&) {
        return make_error(ErrorKind::invalid, "{}: not TOML", file);
    }
}

Result<std::string> read_document(const std::string& path) {
    // O_NONBLOCK: if a FIFO stands in place of the file, opening must not block.
    const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return make_errno_error(errno, fmt::format("open configuration {}", path));
    struct stat status {};
    if (fstat(fd.get(), &status) != 0)
        return make_errno_error(errno, fmt::format("look at configuration {}", path));
    if (!S_ISREG(status.st_mode))
        return make_error(ErrorKind::invalid, "configuration {} is not a file", path);
    std::string document(kFileBytesMax + 1, '\0');
    size_t filled = 0;
    while (filled < document.size()) {
        const ssize_t got = read(fd.get(), document.data() + filled, document.size() - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return make_errno_error(errno, fmt::format("read configuration {}", path));
        if (got == 0) break;
        filled += static_cast<size_t>(got);
    }
    if (filled > kFileBytesMax)
        return make_error(ErrorKind::invalid, "configuration {} is larger than {} bytes", path,
                          kFileBytesMax);
    document.resize(filled);
    return document;
}

std::string written(const toml::node& node) {
    constexpr size_t kShown = 60;
    std::string text;
    if (const auto* string = node.as_string())
        text = '"' + string->get() + '"';
    else if (const auto* number = node.as_integer())
        text = fmt::format("{}", number->get());
    else if (const auto* real = node.as_floating_point())
        text = fmt::format("{}", real->get());
    else if (const auto* truth = node.as_boolean())
        text = truth->get() ? "true" : "false";
    else
        text = node.is_array() ? "[…]" : node.is_table() ? "{…}" : "…";
    if (text.size() > kShown) text = text.substr(0, kShown) + "…";
    return text;
}

}  // namespace pace::settings
