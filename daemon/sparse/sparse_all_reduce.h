// sparse_all_reduce: the sum of the few greatest elements; what it leaves out comes with the next
// exchanges.
//
//     G        = Σ weight · member + residual          on each node
//     result   = scale · (sum of what the algorithm chose of all G), zero elsewhere
//     residual = what was not chosen, nowhere lost (ResidualMode::global):
//                sum of what was chosen + Σ_nodes new residual = Σ_nodes G
//
// The result is the same, bit for bit, on all nodes. `scale` is 1/P for a mean; residuals are never
// scaled. The vector is the layout's elements without padding, less than 2^32 of them. Members'
// weights apply to their gradients; a node without members sends what its residual holds
// (Group::contributes is not looked at: leave members out instead. The dense algorithm does look, and
// keeps such a node's G, so that nothing is lost either way).
//
// When a node dies in an exchange's last messages, some nodes may have the result and others an
// error. Whoever has it proves that all nodes' contributions are in it, or were: each algorithm
// settles (undo_log.h) before the message that others need from it to have the result.
//
//     spar_dl           after the cut in Spar-All-Gather, or after all of it (team_gather.h)
//     topk_a            after the cut
//     topk_dsa, ok_topk after summing the own region, before it is gathered
//     g_topk            after the children's sums, before going up; the root, before going down
//     dense             always: the residual does not depend on the sum
//
// One node alone may run every algorithm, but all except `dense` cut then, too: k elements are
// applied and the rest waits, for no saving. Ask for `dense` there.
//
//     SparseState state(count);                        // one per worker or node, kept for the job
//     auto report = co_await sparse_all_reduce(communicator, part, 1.0 / P, result, state,
//                                              options, pool);
//     // when the exchange counts everywhere: state.commit(); when it is undone: state.discard();
//     // when it failed here and counts all the same, with the result of another node:
//     // state.conclude(layout, result, hidden), then state.commit()
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/collectives/local_part.h"
#include "daemon/kernels/pool.h"
#include "daemon/sparse/options.h"
#include "daemon/sparse/sparse_state.h"

namespace pace::sparse {

struct Report {
    size_t chosen = 0;  // entries of the result; dense: all elements
    size_t teams = 1;   // SparDL's d
    size_t h = 0;       // B-SAG's next h; 0 without it
    uint64_t messages_sent = 0;
    uint64_t messages_received = 0;
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
    // What the result does not show of what was chosen (chosen.h), at least kHiddenHeaderBytes. Equal
    // on all nodes. Belongs to the result: a node that fetches this one's result, for
    // SparseState::conclude(), needs both.
    std::vector<std::byte> hidden;
};

// Whether its gradient may be in other memory (FarGradient): neither sums all of it nor looks at all
// of it.
bool runs_elsewhere(Algorithm algorithm);

// ErrorKind::invalid, with the option, its value and what to do, if they make no sense for so many
// nodes.
base::Result<> check(const Options& options, size_t nodes);

// A `state` whose residual is elsewhere is cut there, in threads of the pool if there is `post` and it is no trifle: the
// state's FarGradient forms G and takes the result, and neither `part` nor `result` is touched.
//
// `result` is part.layout().bytes() of scratch that the caller owns, undefined after an error, and
// written only from Communicator::result_begun() on, when all nodes have begun: at the end, or, dense, as all_reduce() does. `state` belongs to this node's place in the exchange, has as many
// elements as the layout, and is unchanged until commit(). Members' buffers are only read. The
// communicator, `part`, `state`, `options` and `pool` must outlive the task. Memory beyond state and
// result: a few times what travels; dense: all_reduce()'s, and 4 bytes per element unless all buffers
// are f32.
//
// One thread, the communicator's. With `post`, which brings a callback to that thread, passes over
// the vectors run in the pool's threads and the event loop goes on meanwhile; nobody else may use
// `state` then. Without, they run in the calling thread, which the pool's help.
//
// Ends when every operation has ended. Errors: what the transport says (unavailable, mismatch),
// what abort() was given, corrupt if a peer's bytes do not decode, invalid for options or sizes.
// After an error the state remembers what it sent, until it is told what has become of the exchange:
// discard() or conclude().
base::Task<base::Result<Report>> sparse_all_reduce(collectives::Communicator& communicator,
                                                   const collectives::LocalPart& part, double scale,
                                                   std::span<std::byte> result, SparseState& state,
                                                   const Options& options,
                                                   kernels::WorkerPool& pool,
                                                   kernels::WorkerPool::Post post = {});

}  // namespace pace::sparse
