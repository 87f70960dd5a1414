// all_reduce: every node ends with the same bytes,
//
//     result[i] = round(scale · Σ over contributing nodes, in node order, of partial_node[i])
//
// where partial_node is the node's own weighted sum, rounded once to the element type (addend.h,
// local_part.h). A partial must not overflow the element type. For a mean, the caller therefore
// gives members weights that leave room, and a greater scale. f64 accumulates in f64. All other
// types accumulate in f32. With a single node there is no rounding in between.
//
// With nodes in several zones (below), the result is instead
//
//     result[i] = round(Σ over contributing zones of zone[i])
//     zone[i]   = round(scale · Σ over the zone's contributing nodes, in node order,
//                       of partial_node[i])
//
// The zones are in the order of their first nodes. Each zone adds one rounding, whichever node owns
// element i. The zones' sums are scaled already. So a mean that fits in f16 is not lost because an
// unscaled sum overflows. Both results are equal where all sums and products are exact.
//
// Two algorithms give the first result, bit by bit:
//
// Direct reduce-scatter and all-gather, for long vectors. Each node owns one block of the vector.
// All nodes send their partials of a block straight to its owner, chunk by chunk. Each node begins
// with the node after itself, so that the nodes do not all send to one receiver at once. When all
// partials of a chunk have come, the owner sums the chunk in node order and sends the sum to every
// node. Partials are sent before finished chunks, so that no link is idle at the end while a last
// sum is missing. Each node sends and receives 2(N-1)/N · S bytes, which is optimal (Rabenseifner
// 2004; Patarasuk and Yuan 2009). The direct algorithm takes 2 hops. A ring takes 2(N-1).
//
// If a node's part is still arriving (flow.h), this algorithm begins with the chunks that are
// there. It reports its result chunk by chunk. Finished chunks are sent even while the next partial
// is missing. The other algorithms wait for the whole part, and report the result at the end.
//
// Bruck's all-gather of the partials, for short vectors (Bruck et al. 1997). It takes ⌈log2 N⌉
// rounds for any N. Then each node sums all partials. Each node sends (N-1) · S bytes.
//
// One algorithm gives the second result. It serves long vectors if the group's nodes are in several
// zones (Group::zones) and a zone has several nodes. It is the direct algorithm with relays: in
// each zone other than the owner's, one node is the block's relay. The relay sums the partials of
// its zone's nodes and sends this sum to the owner. The relay also receives the finished chunks and
// sends them on to its zone's nodes. With Z zones, a zone with a of the N nodes sends to the others
//
//     (N-a)/N · S of its own sums (none if none of its nodes contributes)
//     + a/N · (Z-1) · S of finished chunks = (1 + (Z-2) · a/N) · S bytes,
//
// Two zones exchange S bytes each way, however many nodes they have. The direct algorithm sends
// 2a(N-a)/N · S. The nodes of a zone take turns as relays of the blocks, so that they send nearly
// equal shares. Within its zone a node sends 2(a-1)/a · S. The algorithm takes 4 hops.
#pragma once

#include <cstddef>
#include <span>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/layout/addend.h"
#include "daemon/collectives/messages/communicator.h"

namespace pace::collectives {

class Flow;

struct AllReduceOptions {
    // Vectors up to this size use Bruck's algorithm. The value must be equal on all nodes.
    size_t small_bytes_max = 8192;
    // A block is cut into about `chunks_per_block` chunks. The size of a chunk is within these
    // bounds. All three values must be equal on all nodes.
    size_t chunk_bytes_min = 16384;
    size_t chunk_bytes_max = 65536;
    size_t chunks_per_block = 16;
    // The number of own chunks whose partials are received at once. Staging memory is window ·
    // (N-1) · chunk bytes. It is at most `staging_bytes_max` if two chunks fit into that limit.
    // With zones, staging is window · (2a+Z-1) chunks, and as many chunks of other blocks are
    // relayed at once.
    size_t window = 16;
    size_t staging_bytes_max = size_t{16} << 20U;
    // The number of sends in flight at once, to all peers together. 0 means four per peer. Each
    // send holds a chunk of memory if the node has several members.
    size_t sends_max = 0;
    // The first index of the message slots. It lets one exchange run several all_reduces. The value
    // must be equal on all nodes.
    size_t first_index = 0;
    // Concerns this node alone. The part is still arriving, and the flow is told of each final
    // range of the result. Ranges refer to all_reduce()'s own layout and result. half_all_reduce
    // and all_reduce_piecewise accept no flow. Null means that the whole part has arrived. Then
    // nothing is reported.
    Flow* flow = nullptr;
};

// Returns the chunk size for a vector of `bytes` among `nodes` nodes.
size_t chunk_bytes_of(const AllReduceOptions& options, size_t bytes, size_t nodes);

// `result` is scratch memory of part.layout().bytes() that the caller owns. After an error `result`
// is undefined, or unchanged if Communicator::result_begun() is false. Members' buffers are only
// read. Memory beyond `result` is the staging described above, or N · S for short vectors. The
// communicator and `part` must outlive the task. The task ends when every operation has ended.
// Errors: those of the transport (unavailable, mismatch), the error given to abort(), or invalid if
// `result` has the wrong size. There is no time limit on waiting for a flow.
base::Task<base::Result<>> all_reduce(Communicator& communicator, const Addend& part, double scale,
                                      std::span<std::byte> result, AllReduceOptions options);

}  // namespace pace::collectives
