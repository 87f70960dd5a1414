// Limits of a job's options and names. They hold on every side.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pace::protocol {

inline constexpr uint32_t kWorldMax = 65536;
inline constexpr uint32_t kEdgesMax = 4096;  // edges of a job's communication graph
// Names of jobs and nodes consist of letters, digits, '.', '_' and '-'.
inline constexpr size_t kNameBytesMax = 63;
inline constexpr uint32_t kShardsMax = 4096;  // shards of a parameter server's model
inline constexpr size_t kOptionsMax = 256;    // options with which one job is asked for
inline constexpr size_t kOptionNameBytesMax = 63;
inline constexpr size_t kOptionTextBytesMax = 4096;
inline constexpr size_t kOptionBytesMax = size_t{kEdgesMax} * 8;
// The longest name of a GPU that a node tells.
inline constexpr size_t kGpuNameBytesMax = 64;
// The largest number of GPUs that a node tells.
inline constexpr size_t kGpusToldMax = 16;

// A key of the data plane for a pair of nodes: 16 bytes of id, then 32 of secret.
inline constexpr size_t kPairKeyBytes = 48;

}  // namespace pace::protocol
