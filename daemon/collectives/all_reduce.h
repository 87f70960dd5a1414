// all_reduce: every node ends with the same bytes,
//
//     result[i] = round(scale · Σ over contributing nodes, in node order, of partial_node[i])
//
// where partial_node is the node's own weighted sum, rounded once to the element type
// (addend.h, local_part.h), which must not be too large for that: who makes a mean gives its members weights that leave
// room, and a greater scale. f64 accumulates in f64, all else in f32. With a single node there is no rounding
// in between.
//
// With nodes in several zones (below), it is instead
//
//     result[i] = round(Σ over contributing zones of zone[i])
//     zone[i]   = round(scale · Σ over the zone's contributing nodes, in node order, of partial_node[i])
//
// with the zones in the order of their first nodes: one rounding more for each zone, whoever owns i.
// The zones' sums are scaled already, so that a mean that f16 can hold is not lost because a sum
// before it is too large. Nothing differs where all sums and products are exact.
//
// Two algorithms with the first result, bit by bit:
//
// Direct reduce-scatter and all-gather, for everything but little. Each node owns one block of the
// vector. All send their partials of a block straight to its owner, chunk by chunk, in rotated
// order (after itself first), so that no receiver is met by all at once; the owner sums a chunk
// when all its partials have come, in node order, and sends it to everyone. Partials have
// precedence over finished chunks, so that no link idles at the end for want of a last sum. Each
// node sends and receives 2(N-1)/N · S bytes, which is optimal (Rabenseifner 2004; Patarasuk and
// Yuan 2009), in 2 hops rather than a ring's 2(N-1).
//
// Where a node's part is still arriving (flow.h), this one begins with what is there, and tells of its
// result chunk by chunk; a finished chunk then leaves while the next partial has not come. The others
// wait for all of the part, and tell of the result at the end.
//
// Bruck's all-gather of the partials, for little: ⌈log2 N⌉ rounds for any N (Bruck et al. 1997),
// then each node sums what it has. (N-1) · S bytes.
//
// And one with the second, for more than little, where the group's nodes lie in several zones
// (Group::zones) and one of these has several nodes: like the direct one, but in each zone that is
// not the owner's, one of the nodes is the block's relay. It sums the partials of its zone's nodes
// and sends this sum to the owner; finished chunks go to it, and it sends them on to its zone's
// nodes. Of Z zones, one with a of the N nodes sends to the others
//
//     (N-a)/N · S of its own sums (none if none of its nodes contributes)
//     + a/N · (Z-1) · S of finished chunks = (1 + (Z-2) · a/N) · S bytes,
//
// between two zones S each way, however many nodes they have; direct, it is 2a(N-a)/N · S. The relays
// of the blocks take turns, so that all nodes of a zone send as much of it, or nearly. Within its
// zone a node sends 2(a-1)/a · S. 4 hops.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/addend.h"
#include "daemon/collectives/communicator.h"

namespace pace::collectives {

class Flow;

struct AllReduceOptions {
    // Vectors up to this size go by Bruck. Must be equal on all nodes.
    size_t small_bytes_max = 8192;
    // A chunk is a block cut into about `chunks_per_block`, within these bounds. All must be equal
    // on all nodes.
    size_t chunk_bytes_min = 16384;
    size_t chunk_bytes_max = 65536;
    size_t chunks_per_block = 16;
    // Own chunks whose partials are received at once: staging is window · (N-1) · chunk bytes, and
    // at most `staging_bytes_max` as long as that allows two. With zones, window · (2a+Z-1) chunks,
    // as many chunks of other blocks being relayed at once.
    size_t window = 16;
    size_t staging_bytes_max = size_t{16} << 20U;
    // Sends under way at once, to all peers together; 0: four per peer. Where a node has several
    // members, each holds a chunk of memory.
    size_t sends_max = 0;
    // Indices of its messages count from here, for several in one exchange. Must be equal on all nodes.
    size_t first_index = 0;
    // Of this node alone: the part is still arriving, and somebody carries the result on as it becomes final. Ranges are
    // those of all_reduce()'s own layout and result: half_all_reduce and all_reduce_piecewise take none. Null: all has
    // arrived, and nobody is told.
    Flow* flow = nullptr;
};

// The chunk size for a vector of `bytes` among `nodes` nodes.
size_t chunk_bytes_of(const AllReduceOptions& options, size_t bytes, size_t nodes);

// `result` is part.layout().bytes() of scratch that the caller owns; it is undefined after an error,
// unless Communicator::result_begun() is false: then it is as it was. Members' buffers are only read. Memory beyond `result`: the staging
// above, or N · S for little. The communicator and `part` must outlive the task. Ends when every
// operation has ended. Errors: what the transport says (unavailable, mismatch), or what abort() was
// given; invalid if `result` has the wrong size. A flow is awaited without time limit.
base::Task<base::Result<>> all_reduce(Communicator& communicator, const Addend& part, double scale,
                                      std::span<std::byte> result, AllReduceOptions options);

}  // namespace pace::collectives
