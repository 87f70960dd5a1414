#include "service/pacectl/console/document.h"

#include <algorithm>
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

namespace {

// The size of the UTF-8 character that begins at `at`; 0 if none begins there.
size_t character_at(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(at);
    const size_t size = lead < 0x80   ? 1
                        : lead < 0xC2 ? 0
                        : lead < 0xE0 ? 2
                        : lead < 0xF0 ? 3
                        : lead < 0xF5 ? 4
                                      : 0;
    if (size == 0 || at + size > text.size()) return 0;
    for (size_t i = at + 1; i < at + size; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
    }
    return size;
}

// Terminals also obey the second set of ISO 6429 (U+0080 to U+009F).
bool is_control(std::string_view character) {
    const auto lead = static_cast<unsigned char>(character[0]);
    if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
    return lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const size_t size = character_at(text, at);
        const std::string_view character = text.substr(at, std::max<size_t>(size, 1));
        if (size == 0 || is_control(character))
            result += '?';
        else
            result += character;
        at += character.size();
    }
    return result;
}

std::string text(const Json& object, std::string_view key, std::string_view fallback) {
    const Json& value = member(object, key);
    if (value.is_string()) return printable(value.get_ref<const std::string&>());
    if (value.is_null() || value.is_structured()) return std::string(fallback);
    return value.dump();
}

uint64_t count(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
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
