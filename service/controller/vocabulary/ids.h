// Ids: the numbers by which the controller names nodes, jobs, workers, groups and requests.
#pragma once

#include <cstdint>

namespace pace::controller {

using NodeId = uint32_t;     // index of a node's name; 0 is no node
using JobId = uint32_t;      // index of a job; 0 is no job
using Rank = uint32_t;       // a worker's number in its job, 0 .. world-1
using GroupId = uint64_t;    // unique in the cluster's life, never 0
using RequestId = uint64_t;  // chosen by the requester, returned in the answer

inline constexpr Rank kNoRank = ~Rank{0};

}  // namespace pace::controller
