// PartialRound: one round of a partial all-reduce at one node (eager-SGD, section 4).
//
//     arrivals ─▶ activation ─▶ (wait for workers too far behind) ─▶ take ─▶ agreement ─▶ all_reduce
//
// Workers arrive; the quorum's initiator starts the round and all nodes hear of it. Each node then
// takes what its workers have given so far out of the store: their gradients, old or new, or
// nothing. The nodes tell each other who gives what, and sum; nodes that give nothing are skipped.
// Everybody gets the same bits, the same list of contributors and the same divisor.
//
// A worker without which a gradient would become more than `staleness_max` rounds old holds up its
// own node between activation and taking, and so, the agreement being among all, the round. When it
// has handed in, or is dead, look_again() says so.
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
// One thread, the event loop's. Blocks for what all_reduce computes.
#pragma once

#include <cstddef>
#include <cstdint>
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
    // `store` has the workers of this node; it and `transport` must outlive this.
    PartialRound(transports::Transport& transport, RoundPlan plan, Store& store);
    // run() has ended, or was never called.
    ~PartialRound();
    PartialRound(const PartialRound&) = delete;
    PartialRound& operator=(const PartialRound&) = delete;

    // Once. `result` is store.layout().bytes() of scratch that the caller owns; undefined after an
    // error, unless result_begun() is false. Errors: the transport's, abort()'s; invalid if the plan
    // or `result` does not fit.
    base::Task<base::Result<RoundOutcome>> run(std::span<std::byte> result);

    // These may end the round before they return, and whatever its end destroys.

    // A worker of this node has called for this round, and what it gives is in the store. At any
    // time, also before run(); a second time, or after the start, it has no effect.
    void arrived(Rank rank);
    // The store has changed otherwise: a late worker has handed in, or one has left.
    void look_again() { wake_.notify(); }
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
    // Of both exchanges.
    collectives::Communicator::Counters traffic() const;

    // After an error, once; see above.
    base::Result<> put_back();
    void used_up();

  private:
    base::Result<> check_plan(size_t result_bytes) const;
    base::Task<base::Result<RoundOutcome>> start_and_sum(std::span<std::byte> result);
    void begin_start();
    Snapshot take();
    base::Task<base::Result<>> sum(const std::vector<Snapshot>& snapshots, double scale,
                                   std::span<std::byte> result);
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
    std::vector<Rank> arrived_;
    std::vector<Taken> taken_;
    bool listening_ = false;
    bool has_taken_ = false;
    bool settled_ = true;  // what became of taken_
};

}  // namespace pace::partial
