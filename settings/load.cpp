#include <unistd.h>

#include "settings/sources.h"

namespace pace::settings {

using base::Result;

namespace {

std::optional<std::string> from_environment(const char* const* environment,
                                            const std::string& variable) {
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const std::string_view entry(*environment);
        if (entry.starts_with(variable) && entry.substr(variable.size()).starts_with('='))
            return std::string(entry.substr(variable.size() + 1));
    }
    return std::nullopt;
}

// A file that was named must exist. The table's own file need not exist.
std::optional<std::string> file_to_read(const Table& table, const Flags& flags,
                                        const char* const* environment) {
    if (flags.config) return flags.config;
    if (auto named = from_environment(environment, variable_of(table, "config"))) return named;
    std::string usual(table.file);
    if (access(usual.c_str(), F_OK) == 0) return usual;
    return std::nullopt;
}

}  // namespace

Result<Loaded> load(const Table& table, int argc, const char* const* argv,
                    const char* const* environment) {
    Loaded loaded{.settings = Settings(table), .print = {}, .warnings = {}};
    PACE_TRY_ASSIGN(flags, parse_flags(table, argc, argv));
    if (flags.print) {
        loaded.print = std::move(flags.print);
        return loaded;
    }
    if (const auto file = file_to_read(table, flags, environment))
        PACE_TRY(apply_file(loaded.settings, *file));
    PACE_TRY(apply_environment(loaded.settings, environment, loaded.warnings));
    PACE_TRY(apply_flags(loaded.settings, flags));
    return loaded;
}

}  // namespace pace::settings
