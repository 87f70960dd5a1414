// messages: moves data between the nodes of a sparse exchange.
//
// A transport's receiver names the size of a message beforehand. Both sides know almost all sizes
// (wire.h), and then a step is one message. For an unknown size, a message of 8 bytes with the
// length is sent ahead at once, which costs no waiting (all_to_all).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/loop/task.h"
#include "base/memory/large_vector.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/collectives/messages/slots.h"
#include "daemon/sparse/exchange/aside.h"
#include "daemon/sparse/wire/ring.h"

namespace pace::sparse {

using Bytes = base::LargeVector<std::byte>;

// Phases of collectives/slots.h that dense exchanges do not use. One step of an algorithm uses each
// phase, once per exchange.
enum class SparsePhase : uint8_t {
    reduce_scatter = 8,  // Spar-Reduce-Scatter, by step; gTopk's way up, by round
    between_teams = 9,   // Spar-All-Gather, by step
    gather = 10,         // the all-gather at the end, by round; gTopk's way down
    lengths = 11,        // all_to_all: the length ahead
    bodies = 12,         // all_to_all
    sizes = 13,          // gather_parts: sizes, by use and round
    parts = 14,          // gather_parts: parts, by use and round
    balance = 15,        // Ok-Topk: boundaries, then balanced parts
};
// Greater than any number of rounds.
inline constexpr size_t kRoundsMax = 64;

inline uint32_t slot_of(SparsePhase phase, size_t index) {
    return collectives::slot(static_cast<collectives::Phase>(phase), index);
}

// Sends and receives one message at once. Ends when both operations have ended. An error aborts the
// communicator.
base::Task<base::Result<>> send_receive(collectives::Communicator& communicator, size_t to,
                                        std::span<const std::byte> sent, size_t from,
                                        std::span<std::byte> received, uint32_t slot);

// Bruck's all-gather (Bruck et al. 1997, section 3) in ⌈log2 N⌉ rounds, for any N. After round r, a
// node has its own part and the parts of the 2^(r+1) - 1 ranks after it, in this order. `sizes` are
// by rank and equal everywhere. `gathered` holds all parts. It begins with this node's own part,
// which is there already. The parts of the ranks after this one follow.
base::Task<base::Result<>> bruck_all_gather(collectives::Communicator& communicator, Ring ring,
                                            uint32_t first_slot, std::span<const size_t> sizes,
                                            std::span<std::byte> gathered);

// Bruck's all-gather for parts whose sizes only their own nodes know. Each size is at most
// `size_max`. The sizes are gathered first, then the parts. `use` distinguishes several such
// gathers in one exchange.
struct GatheredParts {
    Bytes memory;
    std::vector<std::span<const std::byte>> parts;  // by rank, in the memory
};
base::Task<base::Result<GatheredParts>> gather_parts(collectives::Communicator& communicator,
                                                     const Aside& aside, Ring ring,
                                                     const Bytes& part, size_t size_max,
                                                     size_t use);

// Sends each rank its part directly. The order is rotated so that the nodes do not all send to one
// receiver at once. outgoing[r] goes to rank r. The part from rank r is at [r] of the returned
// vector. This node's own part is returned as given. A part longer than `size_max` is refused.
base::Task<base::Result<std::vector<Bytes>>> all_to_all(collectives::Communicator& communicator,
                                                        Ring ring, std::vector<Bytes> outgoing,
                                                        size_t size_max);

}  // namespace pace::sparse
