// Residuals: what top-k has left out of this node's reductions.
//
// A residual belongs to this node or, with a flat hierarchy, to each worker by itself. There is one
// residual per set of buffers (their lengths, in order); the number of sets is bounded, and each is
// charged to the job's user. A residual survives changes of the view, and is transferred when its
// owner leaves. An exchange changes it only when its round commits. Copies and sums of residuals
// are made off the event loop; no exchange that would change a residual begins before they have
// ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/collectives/layout/layout.h"
#include "daemon/families/rounds/handover.h"
#include "daemon/families/rounds/round_port.h"
#include "daemon/kernels/strand.h"
#include "daemon/members/job_state.h"
#include "daemon/sparse/residual/sparse_state.h"

namespace pace::daemon {

// What top-k keeps back for a worker, or for a node: its residuals that are not empty.
struct KeptBack {
    uint64_t bytes = 0;      // of memory: four for each element
    uint64_t exchanges = 0;  // since the oldest of them was empty
    bool operator==(const KeptBack&) const = default;
};

size_t elements_of(const std::vector<BufferPtr>& buffers);

class Residuals {
  public:
    static constexpr control::Rank kNode = control::kNoRank;  // an owner: this node

    // `port` hears when rounds that had to wait may begin.
    Residuals(JobState& job, RoundPort& port);

    // ---- exchanges

    // Whether residuals belong to each worker by itself.
    bool is_flat() const { return job_.options.hierarchy == control::Hierarchy::flat; }
    // Whether there is a residual of this owner for such buffers, or one without an owner.
    bool has(control::Rank owner, const std::vector<BufferPtr>& buffers) const;
    // Made if there is none. Inherited residuals are added to it, which may take until is_ready().
    base::Result<std::shared_ptr<sparse::SparseState>> state_of(
        control::Rank owner, const std::vector<BufferPtr>& buffers);
    // No copy or sum is being made. Else RoundPort::try_start() is called when it has ended.
    bool is_ready() const { return strand_.is_idle(); }
    // An exchange works on residuals, even if it has not begun yet.
    void lend() { lent_ = true; }
    // That exchange has ended, well or not.
    void take_back() { lent_ = false; }
    // No exchange is under way.
    void exchange_ended();
    // Whether an exchange has failed of which it is not known yet how it ended elsewhere.
    bool is_open() const;
    // Undoes what exchanges that ended with an error did to residuals.
    void discard();
    // Concludes such exchanges with `result`, with which they were completed elsewhere. `hidden` is
    // as the node that has the result says.
    void conclude(const collectives::Layout& layout, std::span<const std::byte> result,
                  std::span<const std::byte> hidden_untrusted);

    // ---- saved, loaded and told

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

    // ---- whose they are

    // A new view; the nodes that leave transfer their residuals.
    void commit_view(const std::vector<NodeId>& leavers);
    // This node is excluded.
    void invalidate(const base::Error& error) { handover_.stop(error); }
    // The worker has left; its residuals go to another worker here. Those of the last worker wait
    // for the next view.
    void departed(const Worker& worker);
    // Whether residuals go to a node that takes them over, or come from a node that leaves.
    bool is_handing_over() const { return handover_.is_leaving() || handover_.is_taking(); }

  private:
    // The owner of a residual, and the buffers that it is for.
    struct Key {
        control::Rank owner = 0;
        uint32_t counts = 0;
        bool operator<(const Key& other) const {
            return std::pair(owner, counts) < std::pair(other.owner, other.counts);
        }
    };

    bool is_top_k() const { return protocol::is_top_k(job_.options.compression); }
    control::Rank owner_of(const Worker& worker) const { return is_flat() ? worker.rank : kNode; }
    bool is_first_here(const Worker& worker) const {
        return job_.workers.empty() || job_.workers.begin()->first == worker.rank;
    }
    base::Result<std::shared_ptr<sparse::SparseState>> new_state(const Key& key,
                                                                 size_t count) const;
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
    bool lent_ = false;
    std::vector<Debt> inherited_;  // not yet added to a state
    std::vector<control::Rank> departed_;
    Handover handover_;
};

}  // namespace pace::daemon
