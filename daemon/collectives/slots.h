// Slots: which message of an exchange is which. The upper four bits are the phase, the lower 28 the
// index within it (a chunk or a round). A phase is used by one collective only, and a pair of nodes
// sends each index at most once in each direction, so that (peer, exchange, slot) is unique as long
// as each collective runs at most once per exchange, or each time from another first index.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pace::collectives {

enum class Phase : uint8_t {
    partial = 1,  // all_reduce: a chunk of the receiver's block, from each contributor; with zones:
                  // of any block, from each contributor to its zone's carrier, and from a relay
    finished = 2,   // all_reduce: a chunk of the sender's block, to everyone; with zones: of any
    gather = 3,     // all_reduce of little: a round of Bruck's all-gather
    broadcast = 4,  // broadcast: a chunk (large), or all (small)
    barrier = 5,    // barrier: a round
    transfer = 6,   // transfer: a chunk
};

inline constexpr size_t kSlotIndexMax = (size_t{1} << 28U) - 1;

constexpr uint32_t slot(Phase phase, size_t index) {
    return (static_cast<uint32_t>(phase) << 28U) | static_cast<uint32_t>(index & kSlotIndexMax);
}

}  // namespace pace::collectives
