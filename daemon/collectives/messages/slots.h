// Slots: the identifiers of an exchange's messages. The upper four bits are the phase. The lower 28
// bits are the index within the phase (a chunk or a round). Only one collective uses a phase, and a
// pair of nodes sends each index at most once in each direction. So (peer, exchange, slot) is
// unique if each collective runs at most once per exchange, or begins each run at another first
// index.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pace::collectives {

enum class Phase : uint8_t {
    // all_reduce: a chunk of the receiver's block, from each contributor. With zones: a chunk of
    // any block, sent by each contributor to its zone's carrier, and by a relay to the owner.
    partial = 1,
    // all_reduce: a chunk of the sender's block, sent to every node. With zones: a chunk of any
    // block.
    finished = 2,
    gather = 3,     // all_reduce of short vectors: a round of Bruck's all-gather
    broadcast = 4,  // broadcast: a chunk (large), or all (small)
    barrier = 5,    // barrier: a round
    transfer = 6,   // transfer: a chunk
};

inline constexpr size_t kSlotIndexMax = (size_t{1} << 28U) - 1;

constexpr uint32_t slot(Phase phase, size_t index) {
    return (static_cast<uint32_t>(phase) << 28U) | static_cast<uint32_t>(index & kSlotIndexMax);
}

}  // namespace pace::collectives
