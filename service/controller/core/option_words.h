// The words for job options' choices, as operators and messages use them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "service/controller/core/types.h"

namespace pace::controller {

using Words = std::span<const std::string_view>;

// By number, from 1.
Words words_of(Policy);
Words words_of(Weights);
Words words_of(Missing);
Words words_of(Quorum);
Words words_of(Late);
Words words_of(DivideBy);
Words words_of(Compression);
Words words_of(Residuals);
Words words_of(TeamGather);
Words words_of(Indices);
Words words_of(Values);
Words words_of(Hierarchy);
Words words_of(DenseFallback);
Words words_of(Rate);

template <typename Choice>
concept HasWords = requires(Choice choice) { words_of(choice); };

// "?" for a number that is none.
template <HasWords Choice>
std::string_view name_of(Choice choice) {
    const Words words = words_of(choice);
    const auto number = static_cast<size_t>(choice);
    return number >= 1 && number <= words.size() ? words[number - 1] : "?";
}

// "all-reduce (1), partial-reduce (2)"
std::string numbered(Words words);

}  // namespace pace::controller
