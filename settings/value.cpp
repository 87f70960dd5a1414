#include "settings/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace pace::settings {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

struct Unit {
    std::string_view name;
    int64_t factor = 1;
};

constexpr std::array kTimeUnits{Unit{"ms", 1}, Unit{"s", 1000}, Unit{"min", 60'000},
                                Unit{"h", 3'600'000}};
constexpr std::array kByteUnits{
    Unit{"B", 1},
    Unit{"KiB", int64_t{1} << 10},
    Unit{"MiB", int64_t{1} << 20},
    Unit{"GiB", int64_t{1} << 30},
    Unit{"TiB", int64_t{1} << 40},
    Unit{"KB", 1'000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
};

std::string_view trim(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const size_t first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool is_printable(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7F;
    });
}

Error not_accepted(const Setting& setting) {
    return make_error(ErrorKind::invalid, "give {}", accepted(setting));
}

std::optional<int64_t> factor_of(std::span<const Unit> units, std::string_view name) {
    if (name.empty()) return 1;
    for (const Unit& unit : units) {
        if (unit.name == name) return unit.factor;
    }
    return std::nullopt;
}

// Parses a whole number with an optional unit. The number consists of digits: it may have a leading
// minus, but no plus and no exponent.
std::optional<int64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
    int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    const std::string_view unit = trim(text.substr(static_cast<size_t>(rest - text.data())));
    const auto factor = factor_of(units, unit);
    if (!factor || number > std::numeric_limits<int64_t>::max() / *factor ||
        number < std::numeric_limits<int64_t>::min() / *factor)
        return std::nullopt;
    return number * *factor;
}

Result<Value> parse_number(const Setting& setting, std::string_view text,
                           std::span<const Unit> units) {
    const auto number = parse_quantity(text, units);
    if (!number) return not_accepted(setting);
    return check_number(setting, *number);
}

Result<Value> parse_boolean(const Setting& setting, std::string_view text) {
    constexpr std::array<std::string_view, 4> kTrue{"true", "yes", "on", "1"};
    constexpr std::array<std::string_view, 4> kFalse{"false", "no", "off", "0"};
    if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) return Value(true);
    if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) return Value(false);
    return not_accepted(setting);
}

Result<Value> parse_list(const Setting& setting, std::string_view text) {
    std::vector<std::string> items;
    while (!text.empty()) {
        const size_t comma = std::min(text.find(','), text.size());
        items.emplace_back(trim(text.substr(0, comma)));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return check_list(setting, std::move(items));
}

bool is_choice(std::string_view choices, std::string_view word) {
    while (!choices.empty()) {
        const size_t bar = std::min(choices.find('|'), choices.size());
        if (choices.substr(0, bar) == word) return true;
        choices.remove_prefix(std::min(bar + 1, choices.size()));
    }
    return false;
}

}  // namespace

Result<Value> parse_text(const Setting& setting, std::string_view text) {
    const std::string_view trimmed = trim(text);
    switch (setting.kind) {
        case Kind::text:
            return check_string(setting, text);
        case Kind::boolean:
            return parse_boolean(setting, trimmed);
        case Kind::integer:
            return parse_number(setting, trimmed, {});
        case Kind::milliseconds:
            return parse_number(setting, trimmed, kTimeUnits);
        case Kind::bytes:
            return parse_number(setting, trimmed, kByteUnits);
        case Kind::list:
            return parse_list(setting, text);
    }
    return not_accepted(setting);
}

Result<Value> check_number(const Setting& setting, int64_t number) {
    if (number < setting.min || number > setting.max) return not_accepted(setting);
    return Value(number);
}

Result<Value> check_string(const Setting& setting, std::string_view text) {
    if (text.size() > kTextBytesMax)
        return make_error(ErrorKind::invalid, "it is longer than {} bytes", kTextBytesMax);
    if (!is_printable(text))
        return make_error(ErrorKind::invalid, "it holds control characters; remove them");
    if (!setting.choices.empty() && !is_choice(setting.choices, text)) return not_accepted(setting);
    return Value(std::string(text));
}

Result<Value> check_list(const Setting& setting, std::vector<std::string> items) {
    if (items.size() > kListItemsMax)
        return make_error(ErrorKind::invalid, "it has more than {} items", kListItemsMax);
    for (const std::string& item : items) PACE_TRY(check_string(setting, item));
    return Value(std::move(items));
}

std::string accepted(const Setting& setting) {
    switch (setting.kind) {
        case Kind::boolean:
            return "true or false";
        case Kind::list:
            return "a list of texts";
        case Kind::text: {
            if (setting.choices.empty()) return "a text";
            std::string words(setting.choices);
            for (size_t bar = 0; (bar = words.find('|')) != std::string::npos;)
                words.replace(bar, 1, ", ");
            return "one of " + words;
        }
        case Kind::bytes:
            return fmt::format("{} .. {}", format_bytes(setting.min), format_bytes(setting.max));
        case Kind::integer:
        case Kind::milliseconds:
            break;
    }
    std::string range = fmt::format("{} .. {}", setting.min, setting.max);
    if (!unit_of(setting).empty()) range += fmt::format(" {}", unit_of(setting));
    return range;
}

std::string format_bytes(int64_t bytes) {
    constexpr std::array kNames{"TiB", "GiB", "MiB", "KiB"};
    int shift = 40;
    for (const char* name : kNames) {
        const int64_t unit = int64_t{1} << shift;
        if (bytes != 0 && bytes % unit == 0) return fmt::format("{} {}", bytes / unit, name);
        shift -= 10;
    }
    return fmt::format("{}", bytes);
}

}  // namespace pace::settings
