#include "service/metrics/fields.h"

namespace pace::metrics {

namespace {

// Skips lists that grow with the square of the nodes, or with time. The number of cut links is a
// metric. pacectl shows which links are cut.
bool is_skipped(std::string_view key) {
    return key == "recent_groups" || key == "links" || key == "zones" || key == "events" ||
           key == "options";
}

}  // namespace

Json parse(std::string_view text) {
    const Json::parser_callback_t keep = [](int, Json::parse_event_t event, const Json& parsed) {
        if (event != Json::parse_event_t::key || !parsed.is_string()) return true;
        return !is_skipped(parsed.get_ref<const std::string&>());
    };
    Json document = Json::parse(text, keep, false);
    if (!document.is_object()) return nullptr;
    return document;
}

const Json& member(const Json& object, std::string_view key) {
    static const Json kNothing;
    if (!object.is_object()) return kNothing;
    const auto found = object.find(key);
    return found == object.end() ? kNothing : *found;
}

const Json& list(const Json& object, std::string_view key) {
    static const Json kEmpty = Json::array();
    const Json& value = member(object, key);
    return value.is_array() ? value : kEmpty;
}

std::string text(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    if (value.is_string()) return value.get<std::string>();
    if (value.is_null() || value.is_structured()) return {};
    return value.dump();
}

double number(const Json& object, std::string_view key, double fallback) {
    const Json& value = member(object, key);
    return value.is_number() ? value.get<double>() : fallback;
}

bool has_number(const Json& object, std::string_view key) {
    return member(object, key).is_number();
}

bool truth(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    return value.is_boolean() && value.get<bool>();
}

}  // namespace pace::metrics
