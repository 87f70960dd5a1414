// PartialRound: one round of a partial all-reduce at one node (eager-SGD, section 4).
//
//     arrivals ─▶ activation ─▶ (wait for workers too far behind) ─▶
//         take ─▶ agreement ─▶ all_reduce
//
// Workers arrive. The quorum's initiator starts the round, and all nodes hear of the start. Each
// node then takes from the store what its workers have given so far: their old or new gradients, or
// nothing. The nodes tell each other who gives what, and sum. Nodes that give nothing are skipped.
// All nodes get the same bits, the same list of contributors and the same divisor.
//
// If all workers wait in a verb of all members at this moment, the round has no sum. It then serves
// that verb (Verdict::everyone), and nothing is taken. If no worker of a node has called yet, the
// node learns the buffers' terms here. If nodes have different terms, all nodes find out.
//
// A round must not go on without a worker whose next gradient would then become more than
// `staleness_max` rounds old. Such a worker delays its own node between activation and taking.
// Because the agreement is among all nodes, it delays the whole round. look_again() tells the round
// that the worker has handed in or is dead. hold() delays the node for the node's own reasons. The
// node also waits for what the store has not made yet.
//
// There are two exchanges, because the group of the second exchange must say who contributes. The
// first is the start (arrivals, activation, agreement; a few bytes). The second is the data. Every
// node must run every round from the end of the round before, whether its workers have arrived or
// not. A worker's death does not end a round, but may leave the round short of its quorum. A change
// of the view ends the round: call abort(), and run the round again over the new roster.
//
// run() ends when every operation has ended. If it ends with a result that counts, call settle().
// If it ends with an error, the round was lost at this node, but another node may have completed
// it. Only the job's view can tell which is the case. The same holds for a result of which it is
// not known whether it counts. Until then the round keeps what it took. Call put_back() if the
// round is redone or given up, or used_up() if another node has the result. The destructor puts
// back.
//
// Used in one thread, the event loop's. If this node is alone, the store's strand computes the sum.
// Otherwise the round blocks for what all_reduce computes, chunk by chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/partial/agreement/activation.h"
#include "daemon/partial/agreement/agreement.h"
#include "daemon/partial/agreement/quorum.h"
#include "daemon/partial/agreement/roster.h"
#include "daemon/partial/agreement/wake.h"
#include "daemon/partial/arrivals.h"
#include "daemon/partial/outcome.h"
#include "daemon/partial/store.h"

namespace pace::partial {

inline constexpr uint32_t kStalenessMaxDefault = 32;

struct RoundPlan {
    // Counted from the job's beginning. A round that is redone keeps its number.
    uint64_t round = 0;
    Roster roster;
    Quorum quorum;
    DivideBy divide_by = DivideBy::world;
    uint32_t staleness_max = kStalenessMaxDefault;
    // The group of the start exchange. `contributes` stays empty. The nodes are the roster's nodes.
    collectives::Group group;
    // The number of the data exchange. It differs from the group's number.
    uint64_t data_exchange = 0;
    // Equal on all nodes, like all members above except group.self. group.check covers all of them.
    collectives::AllReduceOptions options;
};

class PartialRound {
  public:
    // Provides `bytes` bytes of memory for the result. The memory must stay until run() has ended.
    using Memory = std::function<base::Result<std::span<std::byte>>(size_t bytes)>;

    // `store` has the workers of this node. `store` and `transport` must outlive the PartialRound.
    PartialRound(transports::Transport& transport, RoundPlan plan, Store& store);
    // Called only when run() has ended or was never called.
    ~PartialRound();
    PartialRound(const PartialRound&) = delete;
    PartialRound& operator=(const PartialRound&) = delete;

    // Runs the round. Called once. `memory` is called when all nodes have begun the round, for
    // store.layout().bytes() bytes, and only for a sum. The memory is undefined after an error,
    // unless result_begun() is false. Errors: the transport's, abort()'s or memory's error, or
    // invalid if the plan or the memory does not fit.
    base::Task<base::Result<RoundOutcome>> run(Memory memory);

    // The following functions may end the round before they return, and destroy whatever the
    // round's end destroys.

    // A worker of this node has called for this round, and its contribution is in the store. Called
    // at any time, also before run(). A second call, or a call after the start, has no effect.
    void arrived(Rank rank);
    // A worker of this node has called a verb of all members. Called as arrived() is. A call of
    // arrived() may follow.
    void waits(Rank rank);
    // The worker does not wait any more. Returns false if the round already counts on the worker.
    // The worker's call then goes on.
    bool waits_no_more(Rank rank);
    // The store has changed in another way: a late worker has handed in, or a worker has left.
    void look_again() { wake_.notify(); }
    // A worker of this node is gone. What was taken from it is not put back, even if another worker
    // has its rank by then.
    void left(Rank rank) { left_.push_back(rank); }
    // Sets whether this node must wait before it takes.
    void hold(bool held);
    // Ends the round with `error`, unless the round has the whole result.
    void abort(const base::Error& error);
    void peer_lost(transports::PeerId peer, const base::Error& error);

    bool activated() const { return activation_.activated(); }
    // Whether this node has taken what it gives. What is handed in later goes into a later round.
    bool has_taken() const { return has_taken_; }
    bool result_begun() const { return data_ && data_->result_begun(); }
    // The workers of this node that delay the round. Empty before the round has started.
    std::vector<Rank> awaited() const;
    // The nodes with which an operation is under way that the round needs for its end. Empty before
    // this node has taken, because a worker that has not arrived yet is not late. If a node that
    // counts or would start the round is frozen, only its silence towards the controller shows
    // this.
    std::vector<size_t> waiting_for() const;
    // When an operation of one of the exchanges last ended.
    base::TimePoint last_progress() const;
    // The traffic of both exchanges.
    collectives::Communicator::Counters traffic() const;

    // One of these is called once, when run() has ended (see the top of this file).
    base::Result<> settle(const RoundOutcome& outcome);
    base::Result<> put_back();
    void used_up();

  private:
    struct Call {
        Rank rank = 0;
        bool waits = false;
        bool counts_as_waiting = false;  // the counting node was told that this worker waits
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
    bool settled_ = true;  // false while taken_ is neither put back nor used up
};

}  // namespace pace::partial
