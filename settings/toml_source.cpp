#include <cstdint>

#include "settings/sources.h"
#include "settings/toml_document.h"

namespace pace::settings {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

Result<Value> value_of(const Setting& setting, const toml::node& node) {
    if (const auto* text = node.as_string()) {
        // A quoted quantity like "8 GiB" or "2 s" is parsed as on the command line. A quoted
        // boolean or list is an error that the message names.
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

}  // namespace

Result<> apply_toml(Settings& settings, std::string_view document, std::string_view file) {
    PACE_TRY_ASSIGN(parsed, parse_toml(document, file));
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
    PACE_TRY_ASSIGN(document, read_document(path));
    return apply_toml(settings, document, path);
}

}  // namespace pace::settings
