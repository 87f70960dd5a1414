#include "service/simulator/measured/status_fields.h"

#include <fmt/format.h>

namespace pace::simulator {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr size_t kShownMax = 40;

// A field's value for a message, on one line and not too long.
std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > kShownMax) text = text.substr(0, kShownMax) + "…";
    return text;
}

const Json& no_fields() {
    static const Json kNone = Json::object();
    return kNone;
}

}  // namespace

const Json* StatusFields::find(std::string_view key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
}

base::Error StatusFields::error(std::string_view key, std::string_view what) const {
    const Json* value = find(key);
    if (value == nullptr)
        return make_error(ErrorKind::invalid, "{}.{} is missing: {}", path_, key, what);
    return make_error(ErrorKind::invalid, "{}.{} is {}: {}", path_, key, shown(*value), what);
}

Result<double> StatusFields::number(std::string_view key, double most,
                                    std::optional<double> fallback) const {
    const Json* value = find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value != nullptr && value->is_number()) {
        const auto given = value->get<double>();
        if (given >= 0 && given <= most) return given;
    }
    return error(key, fmt::format("it can only be a number from 0 to {}", most));
}

Result<uint64_t> StatusFields::whole(std::string_view key, uint64_t most,
                                     std::optional<uint64_t> fallback) const {
    const Json* value = find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value != nullptr && value->is_number_unsigned() && value->get<uint64_t>() <= most)
        return value->get<uint64_t>();
    return error(key, fmt::format("it can only be a whole number from 0 to {}", most));
}

Result<std::string> StatusFields::text(std::string_view key,
                                       std::optional<std::string> fallback) const {
    const Json* value = find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    return error(key, "it can only be a text");
}

Result<StatusFields> StatusFields::object(std::string_view key) const {
    const Json* value = find(key);
    if (value == nullptr) return StatusFields(no_fields(), path_);
    if (!value->is_object()) return error(key, "it can only be an object");
    return StatusFields(*value, fmt::format("{}.{}", path_, key));
}

Result<std::vector<StatusFields>> StatusFields::objects(std::string_view key) const {
    std::vector<StatusFields> all;
    const Json* value = find(key);
    if (value == nullptr) return all;
    if (!value->is_array()) return error(key, "it can only be a list");
    for (const Json& item : *value) {
        if (!item.is_object()) return error(key, "it can only be a list of objects");
        all.emplace_back(item, fmt::format("{}.{}[{}]", path_, key, all.size()));
    }
    return all;
}

Result<std::vector<uint64_t>> StatusFields::wholes(std::string_view key, uint64_t most) const {
    std::vector<uint64_t> all;
    const Json* value = find(key);
    if (value == nullptr) return all;
    const std::string what = fmt::format("it can only be a list of whole numbers to {}", most);
    if (!value->is_array()) return error(key, what);
    for (const Json& item : *value) {
        if (!item.is_number_unsigned() || item.get<uint64_t>() > most) return error(key, what);
        all.push_back(item.get<uint64_t>());
    }
    return all;
}

}  // namespace pace::simulator
