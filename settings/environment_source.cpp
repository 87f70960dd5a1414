#include "settings/sources.h"

namespace pace::settings {

using base::ErrorKind;
using base::make_error;
using base::Result;

Result<> apply_environment(Settings& settings, const char* const* environment,
                           std::vector<std::string>& warnings) {
    const Table& table = settings.table();
    std::map<std::string, const Setting*> variables;
    for (const Setting& setting : table.settings)
        variables[variable_of(table, setting.name)] = &setting;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const std::string_view entry(*environment);
        if (!entry.starts_with(table.environment_prefix)) continue;
        const size_t equals = entry.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string name(entry.substr(0, equals));
        if (name == variable_of(table, "config")) continue;
        const auto variable = variables.find(name);
        if (variable == variables.end()) {
            warnings.push_back(fmt::format("the environment variable {} sets nothing", name));
            continue;
        }
        const std::string_view text = entry.substr(equals + 1);
        auto value = parse_text(*variable->second, text);
        if (!value)
            return make_error(ErrorKind::invalid, "environment variable {}={}: {}", name,
                              text.substr(0, 60), value.error().message);
        settings.set(*variable->second, std::move(value).value(), name);
    }
    return {};
}

}  // namespace pace::settings
