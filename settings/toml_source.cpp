#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

// toml++ 3.3 asserts what hostile text can make false ("[[[a]]]" ends a process), and without
// assertions assumes it. Here a failed assertion is an exception, whatever the build.
namespace {
struct TomlDefect {};
[[noreturn]] void refuse_document() {
    throw TomlDefect{};
}
}  // namespace
#undef NDEBUG
#define TOML_ASSERT(expression) ((expression) ? void() : refuse_document())
#include <toml++/toml.h>

#include "base/unique_fd.h"
#include "settings/sources.h"

namespace pace::settings {

using base::ErrorKind;
using base::make_errno_error;
using base::make_error;
using base::Result;

namespace {

Result<Value> value_of(const Setting& setting, const toml::node& node) {
    if (const auto* text = node.as_string()) {
        // A quoted quantity, "8 GiB" or "2 s", is read as on the command line; a quoted plain
        // boolean or list is a mistake worth naming.
        const bool fits = setting.kind == Kind::text || setting.kind == Kind::bytes ||
                          setting.kind == Kind::milliseconds;
        if (fits) return parse_text(setting, text->get());
    }
    if (const auto* number = node.as_integer()) {
        const bool fits = setting.kind == Kind::integer || setting.kind == Kind::milliseconds ||
                          setting.kind == Kind::bytes;
        if (fits) return check_number(setting, number->get());
    }
    if (const auto* truth = node.as_boolean(); truth != nullptr && setting.kind == Kind::boolean)
        return Value(truth->get());
    if (const auto* array = node.as_array(); array != nullptr && setting.kind == Kind::list) {
        std::vector<std::string> items;
        for (const toml::node& item : *array) {
            const auto* text = item.as_string();
            if (text == nullptr) return make_error(ErrorKind::invalid, "give a list of texts");
            items.push_back(text->get());
        }
        return check_list(setting, std::move(items));
    }
    return make_error(ErrorKind::invalid, "give {}", accepted(setting));
}

// How the value was written, for the message; long ones are cut.
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

// toml++ throws; no exception leaves this function.
Result<toml::table> parse(std::string_view document, std::string_view file) {
    try {
        return toml::parse(document);
    } catch (const toml::parse_error& error) {
        return make_error(ErrorKind::invalid, "{}:{}: not TOML: {}", file,
                          error.source().begin.line, error.description());
    } catch (const TomlDefect&) {
        return make_error(ErrorKind::invalid, "{}: not TOML", file);
    }
}

}  // namespace

Result<> apply_toml(Settings& settings, std::string_view document, std::string_view file) {
    PACE_TRY_ASSIGN(parsed, parse(document, file));
    for (const auto& [key, node] : parsed) {
        const uint32_t line = key.source().begin.line;
        const Table& table = settings.table();
        const Setting* setting = find(table, key.str());
        if (setting == nullptr)
            return make_error(ErrorKind::invalid,
                              "{}:{}: there is no setting '{}'{} `{} --help-config` lists all",
                              file, line, key.str(), suggestion(table, key.str()), table.program);
        auto value = value_of(*setting, node);
        if (!value)
            return make_error(ErrorKind::invalid, "{}:{}: {} = {}: {}", file, line, setting->name,
                              written(node), value.error().message);
        settings.set(*setting, std::move(value).value(), fmt::format("{}:{}", file, line));
    }
    return {};
}

Result<> apply_file(Settings& settings, const std::string& path) {
    // O_NONBLOCK: a FIFO in place of the file must not hang the start.
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
    return apply_toml(settings, document, path);
}

}  // namespace pace::settings
