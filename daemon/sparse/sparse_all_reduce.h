// sparse_all_reduce: sums the few greatest elements. What an exchange leaves out comes with the
// next exchanges.
//
//     G        = Σ weight · member + residual          on each node
//     result   = scale · (sum of what the algorithm chose of all G), zero elsewhere
//     residual = what was not chosen, nowhere lost (ResidualMode::global):
//                sum of what was chosen + Σ_nodes new residual = Σ_nodes G
//
// The result is the same, bit for bit, on all nodes. `scale` is 1/P for a mean. Residuals are never
// scaled. The vector is the layout's elements without padding. It has less than 2^32 elements.
// Members' weights apply to the members' gradients. A node without members sends what its residual
// holds. Group::contributes is ignored: leave members out instead. Only the dense algorithm uses
// Group::contributes. It keeps the G of a node that does not contribute, so nothing is lost either
// way.
//
// When a node dies in an exchange's last messages, some nodes may have the result and others an
// error. A node that has the result proves that all nodes' contributions are, or were, in the
// result. The reason: each algorithm settles (undo_log.h) before the message that the other nodes
// need to get the result.
//
//     spar_dl           after the cut in Spar-All-Gather, or after all of it (team_gather.h)
//     topk_a            after the cut
//     topk_dsa, ok_topk after summing the own region, before it is gathered
//     g_topk            after the children's sums, before going up; the root, before going down
//     dense             always: the residual does not depend on the sum
//
// One node alone may run every algorithm. But all algorithms except `dense` cut there too: k
// elements are applied and the rest waits, which saves nothing. Use `dense` there.
//
//     SparseState state(count);                        // one per worker or node, kept for the job
//     auto report = co_await sparse_all_reduce(communicator, part, 1.0 / P, result, state,
//                                              options, pool);
//     // If the exchange counts everywhere: state.commit(). If it is undone: state.discard().
//     // If it failed here but counts, with the result of another node:
//     // state.conclude(layout, result, hidden), then state.commit().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/layout/local_part.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/kernels/pool.h"
#include "daemon/sparse/residual/sparse_state.h"
#include "daemon/sparse/wire/options.h"

namespace pace::sparse {

struct Report {
    size_t chosen = 0;  // entries of the result; for the dense algorithm, all elements
    size_t teams = 1;   // SparDL's d
    size_t h = 0;       // B-SAG's next h; 0 without B-SAG
    uint64_t messages_sent = 0;
    uint64_t messages_received = 0;
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
    // The chosen elements that the result does not show (chosen.h), at least kHiddenHeaderBytes.
    // Equal on all nodes. Belongs to the result: a node that fetches this node's result for
    // SparseState::conclude() needs both.
    std::vector<std::byte> hidden;
};

// Whether the algorithm's gradient may be in other memory (FarGradient). Such an algorithm neither
// sums the whole gradient nor looks at the whole gradient.
bool runs_elsewhere(Algorithm algorithm);

// Returns ErrorKind::invalid if the options make no sense for this number of nodes. The message
// names the option, its value and what to do.
base::Result<> check(const Options& options, size_t nodes);

// If the residual of `state` is in other memory, the gradient is cut there. The state's FarGradient
// forms G and takes the result. Neither `part` nor `result` is touched then. With `post`, these
// steps run in threads of the pool unless they are small.
//
// `result` is memory of part.layout().bytes() that the caller owns. It is undefined after an error.
// It is written only from Communicator::result_begun() on, when all nodes have begun: at the end,
// or, for the dense algorithm, as all_reduce() does. `state` belongs to this node's place in the
// exchange, has as many elements as the layout, and is unchanged until commit(). Members' buffers
// are only read. The communicator, `part`, `state`, `options` and `pool` must outlive the task.
// Memory beyond the state and the result: a few times the bytes that travel. The dense
// algorithm takes all_reduce()'s memory, and 4 bytes per element unless all buffers are f32.
//
// Runs in one thread, the communicator's. `post` brings a callback to that thread. With `post`,
// passes over the vectors run in the pool's threads and the event loop goes on meanwhile. Nobody
// else may use `state` meanwhile. Without `post`, the passes run in the calling thread,
// with the help of the pool's threads.
//
// Ends when every operation has ended. Errors: what the transport reports (unavailable, mismatch),
// what abort() was given, corrupt if a peer's bytes do not decode, invalid for options or sizes.
// After an error, the state remembers what it sent until discard() or conclude() tells it what has
// become of the exchange.
base::Task<base::Result<Report>> sparse_all_reduce(collectives::Communicator& communicator,
                                                   const collectives::LocalPart& part, double scale,
                                                   std::span<std::byte> result, SparseState& state,
                                                   const Options& options,
                                                   kernels::WorkerPool& pool,
                                                   kernels::WorkerPool::Post post = {});

}  // namespace pace::sparse
