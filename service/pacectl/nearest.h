// nearest: what a mistyped word most likely means. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pace::pacectl {

// How many letters have to be inserted, left out, replaced or exchanged with their neighbour (optimal
// string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that is fewest edits away, at most a third of the word's letters; else the only one
// that begins with it. Empty if there is none: what is further away is no slip of the pen.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'WORD'?", or "" without one near.
std::string meant_text(std::string_view word, std::span<const std::string> candidates);

}  // namespace pace::pacectl
