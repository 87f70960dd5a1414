// PartialRound: one round of a partial all-reduce at one node (eager-SGD, section 4).
//
//     arrivals ─▶ activation ─▶ (wait for workers too far behind) ─▶ take ─▶ agreement ─▶ all_reduce
//
// Workers arrive; the quorum's initiator starts the round and all nodes hear of it. Each node then
// takes what its workers have given so far out of the store: their gradients, old or new, or
// nothing. The nodes tell each other who gives what, and sum; nodes that give nothing are skipped.
// Everybody gets the same bits, the same list of contributors and the same divisor.
//
// If at this moment all workers wait in a verb of all members, the round has no sum: it is that
// verb's (Verdict::everyone), and nothing is taken. A node that none of its workers has called yet
// learns here what the buffers are; nodes that disagree about it all find that out.
//
// A worker without which a gradient would become more than `staleness_max` rounds old holds up its
// own node between activation and taking, and so, the agreement being among all, the round. When it
// has handed in, or is dead, look_again() says so. hold() does the same for the node's own reasons, and so does what the store has
// not made yet.
//
// Two exchanges, because the second one's group has to say who contributes: the start (arrivals,
// activation, agreement; a few bytes) and the data. Every node has to run every round, from its
// predecessor's end on, whether its workers have arrived or not. A worker's death does not end a round,
// and may leave it short of its quorum; a change of the view does: abort(), then again over the new
// roster.
//
// The end. run() ends when every operation has ended. With a result: what was taken is used up. With
// an error: the round was lost at this node, but may have been completed at another, which only the
// job's view can tell. Until then the round keeps what it took: put_back() if it is redone or given
// up, used_up() if another node has the result. The destructor puts back.
//
// One thread, the event loop's. A sum of this node alone is the store's strand's work; else it blocks for what all_reduce computes, chunk by
// chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/communicator.h"
#include "daemon/partial/activation.h"
#include "daemon/partial/agreement.h"
#include "daemon/partial/arrivals.h"
#include "daemon/partial/outcome.h"
#include "daemon/partial/quorum.h"
#include "daemon/partial/roster.h"
#include "daemon/partial/store.h"
#include "daemon/partial/wake.h"

namespace pace::partial {

inline constexpr uint32_t kStalenessMaxDefault = 32;

struct RoundPlan {
    uint64_t round = 0;  // counted from the job's beginning; redone under the same number
    Roster roster;
    Quorum quorum;
    DivideBy divide_by = DivideBy::world;
    uint32_t staleness_max = kStalenessMaxDefault;
    // Of the start; `contributes` stays empty. The nodes are the roster's.
    collectives::Group group;
    // The number of the data's exchange, another one than the group's.
    uint64_t data_exchange = 0;
    // Equal on all nodes, as is all above but group.self; group.check covers them.
    collectives::AllReduceOptions options;
};

class PartialRound {
  public:
    // So many bytes of memory for the result, which stays until run() has ended.
    using Memory = std::function<base::Result<std::span<std::byte>>(size_t bytes)>;

    // `store` has the workers of this node; it and `transport` must outlive this.
    PartialRound(transports::Transport& transport, RoundPlan plan, Store& store);
    // run() has ended, or was never called.
    ~PartialRound();
    PartialRound(const PartialRound&) = delete;
    PartialRound& operator=(const PartialRound&) = delete;

    // Once. `memory` is called when all nodes have begun the round, for store.layout().bytes(), and
    // only for a sum; what it gives is undefined after an error, unless result_begun() is false. Errors: the transport's,
    // abort()'s, memory's; invalid if the plan or the memory does not fit.
    base::Task<base::Result<RoundOutcome>> run(Memory memory);

    // These may end the round before they return, and whatever its end destroys.

    // A worker of this node has called for this round, and what it gives is in the store. At any
    // time, also before run(); a second time, or after the start, it has no effect.
    void arrived(Rank rank);
    // A worker of this node has called a verb of all members. As arrived(), which may follow.
    void waits(Rank rank);
    // It does so no more. False if the round counts on it already: then its call goes on.
    bool waits_no_more(Rank rank);
    // The store has changed otherwise: a late worker has handed in, or one has left.
    void look_again() { wake_.notify(); }
    // A worker of this node is gone: what was taken of it is not put back, whoever has its rank then.
    void left(Rank rank) { left_.push_back(rank); }
    // Whether this node must not go on to take yet.
    void hold(bool held);
    // Ends the round with `error`, unless it has the whole result.
    void abort(const base::Error& error);
    void peer_lost(transports::PeerId peer, const base::Error& error);

    bool activated() const { return activation_.activated(); }
    // This node has taken what it gives: what is handed in now goes into a later round.
    bool has_taken() const { return has_taken_; }
    bool result_begun() const { return data_ && data_->result_begun(); }
    // The workers of this node that hold the round up. Empty before it has started.
    std::vector<Rank> awaited() const;
    // Nodes with which an operation is under way that the round cannot end without. Empty before this
    // node has taken: who has not arrived yet is not late, and that a node which counts or would
    // start is frozen shows in its silence towards the controller alone.
    std::vector<size_t> waiting_for() const;
    // When an operation of either exchange has last ended.
    base::TimePoint last_progress() const;
    // Of both exchanges.
    collectives::Communicator::Counters traffic() const;

    // After an error, once; see above.
    base::Result<> put_back();
    void used_up();

  private:
    struct Call {
        Rank rank = 0;
        bool waits = false;
        bool counts_as_waiting = false;  // told so to whoever counts
    };

    base::Result<> check_plan() const;
    base::Task<base::Result<RoundOutcome>> start_and_sum(Memory memory);
    base::Task<base::Result<std::vector<NodeView>>> start();
    void begin_start();
    void call(Rank rank, bool waits);
    bool is_waiting(Rank rank) const;
    NodeView take();
    base::Task<base::Result<>> share_terms(const std::vector<NodeView>& views);
    base::Task<base::Result<>> tell_terms(size_t node, std::span<const std::byte> bytes);
    base::Task<base::Result<>> hear_terms(size_t node);
    base::Task<base::Result<>> sum(const RoundOutcome& outcome, std::span<std::byte> result);
    base::Task<> in_strand(size_t bytes, size_t size, kernels::WorkerPool::Work work);
    const std::vector<Rank>& own_ranks() const { return plan_.roster.nodes[plan_.group.self]; }

    transports::Transport& transport_;
    RoundPlan plan_;
    Store& store_;
    collectives::Communicator start_;
    std::optional<collectives::Communicator> data_;
    Wake wake_;
    Activation activation_;
    Arrivals arrivals_;
    Agreement agreement_;
    std::vector<Call> calls_;
    std::vector<Taken> taken_;
    std::vector<Rank> left_;
    bool listening_ = false;
    bool held_ = false;
    bool sharing_terms_ = false;
    bool has_taken_ = false;
    bool settled_ = true;  // what became of taken_
};

}  // namespace pace::partial
