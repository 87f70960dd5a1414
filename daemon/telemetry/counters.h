// Counters of one daemon since its start. Written on the event loop's thread only.
#pragma once

#include <cstdint>

namespace pace::daemon {

struct Counters {
    uint64_t requests = 0;
    uint64_t requests_failed = 0;
    uint64_t rounds = 0;
    uint64_t rounds_dense_instead =
        0;  // where top-k was asked for, but dense was expected to be faster
    uint64_t groups = 0;
    uint64_t sums_among_gpus = 0;  // of members on several GPUs, by NCCL
    uint64_t sums_in_pieces =
        0;  // among nodes, of members on GPUs that were copied while it travelled
    uint64_t sums_on_device = 0;   // of members on one GPU, by a kernel there
    uint64_t top_k_on_device = 0;  // top-k reductions whose gradient was cut on a GPU
    uint64_t averages_in_results =
        0;  // among nodes, formed where a member wants the result, not copied there
    uint64_t gradients_late = 0;  // handed in when their round had begun without them
    uint64_t exchanges_aborted = 0;
    uint64_t adoptions = 0;
    uint64_t clients_accepted = 0;
    uint64_t clients_refused = 0;  // protocol errors, corrupt rings, quotas
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
};

}  // namespace pace::daemon
