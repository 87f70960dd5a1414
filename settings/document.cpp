#include "settings/sources.h"

namespace pace::settings {

namespace {

constexpr size_t kWidth = 96;

// Wraps sentences into lines that begin with `prefix`.
std::string wrapped(std::string_view text, std::string_view prefix) {
    std::string lines;
    std::string line(prefix);
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        if (line.size() > prefix.size() && line.size() + 1 + end > kWidth) {
            lines += line + '\n';
            line = prefix;
        }
        line += ' ';
        line += text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines + line + '\n';
}

std::string toml_default(const Setting& setting) {
    switch (setting.kind) {
        case Kind::boolean:
        case Kind::integer:
        case Kind::milliseconds:
            return std::string(setting.initial);
        case Kind::list:
            return "[]";
        case Kind::bytes:
            if (setting.initial.find(' ') == std::string_view::npos)
                return std::string(setting.initial);
            break;
        case Kind::text:
            break;
    }
    return fmt::format("\"{}\"", setting.initial);
}

}  // namespace

std::string help_config(const Table& table) {
    std::string text = wrapped(
        fmt::format("The configuration of {}: every setting with its default. Read from {}, or "
                    "from the file that --config names. The environment ({}…) overrides the file, "
                    "and the command line overrides both.",
                    table.program, table.file, table.environment_prefix),
        "#");
    for (const Setting& setting : table.settings) {
        text += '\n';
        text += wrapped(setting.help, "#");
        text += fmt::format("# {}. {}, {}\n", accepted(setting), variable_of(table, setting.name),
                            flag_of(setting.name));
        text += fmt::format("#{} = {}\n", setting.name, toml_default(setting));
    }
    return text;
}

std::string reference(const Table& table) {
    std::string text = fmt::format(
        "## {}\n\n{} File: `{}`. Environment: `{}…`.\n\n"
        "| setting | default | accepts | |\n|---|---|---|---|\n",
        table.program, table.summary, table.file, table.environment_prefix);
    for (const Setting& setting : table.settings)
        text += fmt::format("| `{}` | `{}` | {} | {} |\n", setting.name, toml_default(setting),
                            accepted(setting), setting.help);
    return text;
}

}  // namespace pace::settings
