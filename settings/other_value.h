// For tests: a value that a setting may have, other than its default.
#pragma once

#include <string>
#include <string_view>

#include "settings/value.h"

namespace pace::settings {

// The first of the allowed words that is not the default.
inline std::string_view other_word_of(const Setting& setting) {
    const std::string_view choices = setting.choices;
    const size_t end = choices.find('|');
    const std::string_view first = choices.substr(0, end);
    if (first != setting.initial) return first;
    const std::string_view rest = choices.substr(end + 1);
    return rest.substr(0, rest.find('|'));
}

inline Value other_value_of(const Setting& setting) {
    const Value usual = parse_text(setting, setting.initial).value();
    switch (setting.kind) {
        case Kind::boolean:
            return !std::get<bool>(usual);
        case Kind::text:
            return setting.choices.empty() ? Value(std::string("other"))
                                           : Value(std::string(other_word_of(setting)));
        case Kind::list:
            return std::vector<std::string>{"other"};
        case Kind::integer:
        case Kind::milliseconds:
        case Kind::bytes:
            break;
    }
    return std::get<int64_t>(usual) == setting.max ? setting.min : setting.max;
}

}  // namespace pace::settings
