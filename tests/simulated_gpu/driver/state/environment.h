// The common part of the settings of the simulated libraries: the reading of environment variables.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

namespace pace::simulated_gpu {

template <typename Number>
bool read_number(std::string_view text, Number& ret_number) {
    const char* const end = text.data() + text.size();
    const auto [stopped, failed] = std::from_chars(text.data(), end, ret_number);
    return failed == std::errc() && stopped == end;
}

inline std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

template <typename Number>
bool read_variable(const char* name, Number& ret_number) {
    const std::string_view text = variable(name);
    return text.empty() || read_number(text, ret_number);
}

// Parses "cuMemCreate:1,cuEventRecord:3", a number for each symbol, such as that of its first call
// that fails.
inline bool read_numbers(std::string_view text, std::span<const std::string_view> symbols,
                         std::span<uint64_t> ret_numbers) {
    while (!text.empty()) {
        const std::string_view entry = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), entry.size() + 1));
        const size_t colon = std::min(entry.find(':'), entry.size());
        const auto symbol = std::find(symbols.begin(), symbols.end(), entry.substr(0, colon));
        uint64_t number = 0;
        if (symbol == symbols.end() || colon == entry.size() ||
            !read_number(entry.substr(colon + 1), number) || number == 0)
            return false;
        ret_numbers[static_cast<size_t>(symbol - symbols.begin())] = number;
    }
    return true;
}

}  // namespace pace::simulated_gpu
