// Limits of a job's options and names, on every side.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pace::protocol {

inline constexpr uint32_t kWorldMax = 65536;
inline constexpr uint32_t kEdgesMax = 4096;  // of a job's communication graph
inline constexpr size_t kNameBytesMax =
    63;  // job and node names: letters, digits, '.', '_' and '-'
inline constexpr uint32_t kShardsMax = 4096;  // of a parameter server's model
inline constexpr size_t kOptionsMax = 256;    // that one job is asked for with
inline constexpr size_t kOptionNameBytesMax = 63;
inline constexpr size_t kOptionTextBytesMax = 4096;
inline constexpr size_t kOptionBytesMax = size_t{kEdgesMax} * 8;

}  // namespace pace::protocol
