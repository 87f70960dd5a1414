// Compression: how a job's reductions travel (as they are, as halves, or as the greatest elements
// alone), and the residuals of top-k.
//
// A residual is what top-k left out. It belongs to this node or, with a flat hierarchy, to each
// worker by itself. There is one residual per set of buffers (their lengths, in order); the number
// of sets is bounded, and each is charged to the job's user. A residual survives changes of the
// view, and is transferred when its owner leaves. An exchange changes it only when its round
// commits. Copies and sums of residuals are made off the event loop; no exchange that would change
// a residual begins before they have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/families/rounds/handover.h"
#include "daemon/families/rounds/round_port.h"
#include "daemon/kernels/strand.h"
#include "daemon/members/job_state.h"
#include "daemon/sparse/sparse_state.h"

namespace pace::daemon {

// The type as which elements of larger types travel; none: as they are, or the greatest alone.
constexpr std::optional<protocol::DType> half_of(control::Compression compression) {
    if (compression == control::Compression::f16) return protocol::DType::f16;
    if (compression == control::Compression::bf16) return protocol::DType::bf16;
    return std::nullopt;
}

// What top-k keeps back for a worker, or for a node: its residuals that are not empty.
struct KeptBack {
    uint64_t bytes = 0;      // of memory: four for each element
    uint64_t exchanges = 0;  // since the oldest of them was empty
    bool operator==(const KeptBack&) const = default;
};

class Compression {
  public:
    // `port` hears when rounds that had to wait may begin.
    Compression(JobState& job, RoundPort& port);

    bool is_top_k() const { return protocol::is_top_k(job_.options.compression); }

    // A new view; the nodes that leave transfer their residuals.
    void commit_view(const std::vector<NodeId>& leavers);
    // This node is excluded.
    void invalidate(const base::Error& error);
    bool ready() const { return strand_.is_idle(); }

    // Writes to `plan`, which is a reduction's, how it travels. False: it cannot begin before
    // RoundPort::try_start() is called. ErrorKind::invalid if the options do not fit the plan's
    // nodes or buffers.
    base::Result<bool> choose(Exchange::Plan& plan, const std::vector<WorkerPtr>& members);
    // The exchange that choose() was last called for has ended, well or not.
    void chosen_ended() { exchanging_ = false; }
    // The exchange's round has committed, or its result is lost on this node alone: the residual
    // that it left counts.
    void committed(const Exchange& exchange);

    // The local verbs (residual_save, residual_load) of a worker's first request. `done` is called
    // before these return if there is little to do.
    using Done = std::function<void(const base::Result<>&)>;
    void save(const WorkerPtr& worker, const Done& done);
    void load(const WorkerPtr& worker, const Done& done);

    // Whether a residual is here for which no view has named a successor.
    bool owes() const;
    // Counted, without a look at any element. Where a node's workers share one residual, the first
    // of them tells it, and the others none.
    std::optional<KeptBack> kept_back(const Worker& worker) const;
    // Whether residuals go to a node that takes them over, or come from a node that leaves.
    bool is_handing_over() const { return handover_.is_leaving() || handover_.is_taking(); }
    // Whether an exchange has failed of which it is not known yet how it ended elsewhere.
    bool is_open() const;

    // The worker has left; its residuals go to another worker here. Those of the last worker wait
    // for the next view.
    void departed(const Worker& worker);
    // No exchange is under way.
    void exchange_ended();
    // Undoes what exchanges that ended with an error did to residuals.
    void discard();
    // Concludes such exchanges with `result`, with which they were completed elsewhere. `hidden` is
    // as the node that has the result says.
    void conclude(const collectives::Layout& layout, std::span<const std::byte> result,
                  std::span<const std::byte> hidden_untrusted);

  private:
    // The owner of a residual, and the buffers that it is for.
    struct Key {
        control::Rank owner = 0;  // kNode: this node
        uint32_t counts = 0;
        bool operator<(const Key& other) const {
            return std::pair(owner, counts) < std::pair(other.owner, other.counts);
        }
    };
    static constexpr control::Rank kNode = control::kNoRank;

    bool is_flat() const { return job_.options.hierarchy == control::Hierarchy::flat; }
    control::Rank owner_of(const Worker& worker) const { return is_flat() ? worker.rank : kNode; }
    bool is_first_here(const Worker& worker) const {
        return job_.workers.empty() || job_.workers.begin()->first == worker.rank;
    }
    base::Result<std::shared_ptr<sparse::SparseState>> state_of(const Key& key, size_t count);
    base::Result<std::shared_ptr<sparse::SparseState>> new_state(const Key& key,
                                                                 size_t count) const;
    base::Result<sparse::Options> options_for(size_t participants, bool all_here) const;
    bool goes_dense(size_t participants, size_t count, const sparse::Options& options);
    // The state's residual, for transfer. Ends the state.
    Debt debt_of(const Key& key, sparse::SparseState& state) const;
    void bequeath(control::Rank owner);
    void give_if_leaving();
    void inherit(Debt debt);
    bool is_free(const sparse::SparseState& state) const;
    // Works on `count` floats and as many others, in pieces, after all work asked for before.
    void work(size_t count, kernels::WorkerPool::Work work, kernels::Strand::Done done = {});
    void await_strand();
    // Adds inherited residuals to the state, unless an exchange works on the state.
    void settle(const Key& key, const std::shared_ptr<sparse::SparseState>& state);

    JobState& job_;
    RoundPort& port_;
    std::map<Key, std::shared_ptr<sparse::SparseState>> states_;
    kernels::Strand strand_;  // works on states and inherited residuals
    bool awaits_strand_ = false;
    bool exchanging_ = false;      // an exchange works on states, even if none is begun yet
    std::vector<Debt> inherited_;  // not yet added to a state
    std::vector<control::Rank> departed_;
    Handover handover_;
    std::string last_reason_;  // the logged reason for dense or sparse
};

}  // namespace pace::daemon
