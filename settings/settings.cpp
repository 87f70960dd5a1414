#include "settings/settings.h"

#include <utility>

namespace pace::settings {

Settings::Settings(const Table& table) : table_(&table) {
    for (const Setting& setting : table.settings) {
        auto value = parse_text(setting, setting.initial);
        entries_[setting.name] = {value ? std::move(value).value() : Value{}, "default"};
    }
}

template <typename T>
const T& Settings::get(std::string_view name) const {
    static const T kNothing{};
    const auto entry = entries_.find(name);
    if (entry == entries_.end()) return kNothing;
    const T* value = std::get_if<T>(&entry->second.value);
    return value == nullptr ? kNothing : *value;
}

const std::string& Settings::text(std::string_view name) const {
    return get<std::string>(name);
}

bool Settings::enabled(std::string_view name) const {
    return get<bool>(name);
}

int64_t Settings::integer(std::string_view name) const {
    return get<int64_t>(name);
}

std::chrono::milliseconds Settings::milliseconds(std::string_view name) const {
    return std::chrono::milliseconds(get<int64_t>(name));
}

uint64_t Settings::bytes(std::string_view name) const {
    return static_cast<uint64_t>(get<int64_t>(name));
}

const std::vector<std::string>& Settings::list(std::string_view name) const {
    return get<std::vector<std::string>>(name);
}

const std::string& Settings::origin(std::string_view name) const {
    static const std::string kNone;
    const auto entry = entries_.find(name);
    return entry == entries_.end() ? kNone : entry->second.origin;
}

void Settings::set(const Setting& setting, Value value, std::string origin) {
    entries_[setting.name] = {std::move(value), std::move(origin)};
}

}  // namespace pace::settings
