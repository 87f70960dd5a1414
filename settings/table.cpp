#include "settings/table.h"

#include <algorithm>

namespace pace::settings {

std::string_view kind_name(Kind kind) {
    switch (kind) {
        case Kind::text:
            return "text";
        case Kind::boolean:
            return "true or false";
        case Kind::integer:
            return "whole number";
        case Kind::milliseconds:
            return "milliseconds";
        case Kind::bytes:
            return "bytes";
        case Kind::list:
            return "list of texts";
    }
    return "?";
}

const Setting* find(const Table& table, std::string_view name) {
    const auto found = std::find_if(table.settings.begin(), table.settings.end(),
                                    [&](const Setting& setting) { return setting.name == name; });
    return found == table.settings.end() ? nullptr : &*found;
}

std::string_view unit_of(const Setting& setting) {
    if (setting.kind == Kind::milliseconds) return "ms";
    if (setting.kind == Kind::bytes) return "bytes";
    return setting.unit;
}

}  // namespace pace::settings
