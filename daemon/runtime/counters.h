// Counters: counters of one daemon since its start. Written only on the event loop's thread.
#pragma once

#include <cstdint>

namespace pace::daemon {

struct Counters {
    uint64_t requests = 0;
    uint64_t requests_failed = 0;
    uint64_t rounds = 0;
    // Rounds that asked for top-k, but were dense, since that was expected to be faster.
    uint64_t rounds_dense_instead = 0;
    uint64_t groups = 0;
    uint64_t sums_among_gpus = 0;  // of members on several GPUs, by NCCL
    // Sums among nodes, of members on GPUs, copied to and from the GPUs while they travelled.
    uint64_t sums_in_pieces = 0;
    uint64_t sums_on_device = 0;   // of members on one GPU, by a kernel there
    uint64_t top_k_on_device = 0;  // top-k reductions whose gradient was cut on a GPU
    // Averages among nodes, formed directly in a member's result buffer.
    uint64_t averages_in_results = 0;
    uint64_t gradients_late = 0;  // came after their round had begun
    uint64_t exchanges_aborted = 0;
    uint64_t adoptions = 0;
    uint64_t clients_accepted = 0;
    uint64_t clients_refused = 0;  // protocol errors, corrupt rings, quotas
    uint64_t letters_refused = 0;  // of other nodes, about models: not theirs to send, or nonsense
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
};

}  // namespace pace::daemon
