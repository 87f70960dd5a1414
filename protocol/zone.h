// A node's zone: the operator's word for the place of the node, a rack or a data center. Nodes of
// one zone are near each other.
#pragma once

#include <cstddef>
#include <string_view>

namespace pace::protocol {

inline constexpr size_t kZoneBytesMax = 63;

// The rule in words, for messages about a text that is no zone.
inline constexpr std::string_view kZoneRule = "at most 63 letters, digits, '.', '_', '-' or '/'";

// Whether the text is a zone. An empty text means that the node has no zone.
constexpr bool is_zone(std::string_view zone) {
    return zone.size() <= kZoneBytesMax &&
           zone.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
               std::string_view::npos;
}

}  // namespace pace::protocol
