#include "service/pacectl/document.h"

#include <array>

namespace pace::pacectl {

using base::ErrorKind;
using base::make_error;
using base::Result;

Result<Json> parse_document(std::string_view text) {
    Json document = Json::parse(text, nullptr, false);
    if (!document.is_object())
        return make_error(ErrorKind::corrupt,
                          "the daemon's answer of {} bytes is no JSON object; are daemon and "
                          "pacectl of the same version?",
                          text.size());
    return document;
}

const Json& member(const Json& object, std::string_view key) {
    static const Json kNothing;
    if (!object.is_object()) return kNothing;
    const auto found = object.find(std::string(key));
    return found == object.end() ? kNothing : *found;
}

std::string printable(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) c = '?';
    }
    return result;
}

std::string text(const Json& object, std::string_view key, std::string_view fallback) {
    const Json& value = member(object, key);
    if (value.is_string()) return printable(value.get_ref<const std::string&>());
    if (value.is_null() || value.is_structured()) return std::string(fallback);
    return value.dump();
}

double number(const Json& object, std::string_view key, double fallback) {
    const Json& value = member(object, key);
    return value.is_number() ? value.get<double>() : fallback;
}

uint64_t count(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

bool truth(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    return value.is_boolean() && value.get<bool>();
}

const Json& list(const Json& object, std::string_view key) {
    static const Json kEmpty = Json::array();
    const Json& value = member(object, key);
    return value.is_array() ? value : kEmpty;
}

std::string duration_text(double milliseconds) {
    if (milliseconds < 0) return "-";
    if (milliseconds < 1) return fmt::format("{:.0f} us", milliseconds * 1000);
    if (milliseconds < 100) return fmt::format("{:.1f} ms", milliseconds);
    if (milliseconds < 1000) return fmt::format("{:.0f} ms", milliseconds);
    if (milliseconds < 120'000) return fmt::format("{:.1f} s", milliseconds / 1000);
    if (milliseconds < 7'200'000) return fmt::format("{:.0f} min", milliseconds / 60'000);
    return fmt::format("{:.0f} h", milliseconds / 3'600'000);
}

std::string bytes_text(double bytes) {
    constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < kUnits.size()) {
        bytes /= 1024;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

}  // namespace pace::pacectl
