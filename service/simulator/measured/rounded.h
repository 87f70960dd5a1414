// rounded: a measured value with four digits. More digits are noise.
#pragma once

#include <charconv>
#include <string>

#include <fmt/format.h>

namespace pace::simulator {

inline double rounded(double value) {
    const std::string text = fmt::format("{:.4g}", value);
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace pace::simulator
