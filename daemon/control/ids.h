// Ids: the numbers by which daemon and controller name things.
#pragma once

#include <cstdint>

namespace pace::daemon::control {

using NodeId = uint32_t;   // given by the controller; 0 is no node
using JobId = uint32_t;    // given by the controller; 0 is no job
using Rank = uint32_t;     // a worker's number in its job
using GroupId = uint64_t;  // unique in the cluster's life, never 0
using RequestId = uint64_t;

inline constexpr Rank kNoRank = ~Rank{0};

}  // namespace pace::daemon::control
