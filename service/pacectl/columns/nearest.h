// nearest: the most likely meaning of a mistyped word. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pace::pacectl {

// The number of letters to insert, omit, replace or exchange with a neighbour (optimal string
// alignment).
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate with the fewest edits, at most a third of the word's letters. Otherwise the only
// candidate that begins with the word. Empty if there is none: a greater distance is no typing
// error.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'WORD'?", or "" if no candidate is near.
std::string meant_text(std::string_view word, std::span<const std::string> candidates);

}  // namespace pace::pacectl
