// A node's zone: the operator's word for where it is, a rack or a data center. Nodes of one zone are near each other.
#pragma once

#include <cstddef>
#include <string_view>

namespace pace::protocol {

inline constexpr size_t kZoneBytesMax = 63;

// In words, for messages about one that is not.
inline constexpr std::string_view kZoneRule = "at most 63 letters, digits, '.', '_', '-' or '/'";

// Empty: the node has none.
constexpr bool is_zone(std::string_view zone) {
    return zone.size() <= kZoneBytesMax &&
           zone.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
               std::string_view::npos;
}

}  // namespace pace::protocol
