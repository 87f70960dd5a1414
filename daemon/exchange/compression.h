// Compression: how the reductions of a job travel: as they are, as halves, or as the greatest elements alone, and what such
// exchanges still owe.
//
// What top-k leaves out is owed by whoever left it out: this node, or, flat, each worker. It is kept per set of buffers (their
// lengths, in order), of which there are only so many, and charged to the job's user; it survives changes of the view, and moves on
// when its owner leaves. An exchange changes it only when its round commits. Copies and sums of what is owed leave the event loop; no
// exchange that would change it begins before they have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/exchange/handover.h"
#include "daemon/exchange/job_state.h"
#include "daemon/kernels/strand.h"
#include "daemon/sparse/sparse_state.h"

namespace pace::daemon {

// As what elements of larger types travel; none: as they are, or the greatest alone.
constexpr std::optional<protocol::DType> half_of(control::Compression compression) {
    if (compression == control::Compression::f16) return protocol::DType::f16;
    if (compression == control::Compression::bf16) return protocol::DType::bf16;
    return std::nullopt;
}

class Compression {
  public:
    // `ready` is called when rounds may begin that had to wait.
    Compression(JobState& job, std::function<void()> ready);

    bool is_top_k() const { return protocol::is_top_k(job_.options.compression); }

    // A new view, whose leavers give what they owe.
    void commit_view(const std::vector<NodeId>& leavers);
    // This node is excluded.
    void invalidate(const base::Error& error);
    bool ready() const { return strand_.is_idle(); }

    // Says in `plan`, a reduction's, how it travels. False: not before ready() is called. ErrorKind::invalid if the options do not fit
    // its nodes or buffers.
    base::Result<bool> choose(Exchange::Plan& plan, const std::vector<WorkerPtr>& members);
    // The exchange that was chosen for last has ended, however.
    void chosen_ended() { exchanging_ = false; }
    // The exchange's round has committed, or its result is lost here alone: what it owes counts.
    void committed(const Exchange& exchange);

    // The local verbs, of a worker's first request. `done` comes before this returns if there is little to do.
    using Done = std::function<void(const base::Result<>&)>;
    void save(const WorkerPtr& worker, const Done& done);
    void load(const WorkerPtr& worker, const Done& done);

    // Something is owed here that no view has named an heir of.
    bool owes() const;
    // To a node that is to have it, or from one that leaves to this one.
    bool is_handing_over() const { return handover_.is_leaving() || handover_.is_taking(); }
    // An exchange has failed, and what became of it elsewhere is not known yet.
    bool is_open() const;

    // The worker has left; what it owes goes to another here. With the last one it waits for the next view.
    void departed(const Worker& worker);
    // No exchange is under way.
    void exchange_ended();
    // Exchanges that ended with an error are undone,
    void discard();
    // or were completed elsewhere with this result; `hidden` as the node that has it says.
    void conclude(const collectives::Layout& layout, std::span<const std::byte> result,
                  std::span<const std::byte> hidden_untrusted);

  private:
    // Whose, of which buffers.
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
    base::Result<std::shared_ptr<sparse::SparseState>> state_of(const Key& key, size_t count);
    base::Result<std::shared_ptr<sparse::SparseState>> new_state(const Key& key,
                                                                 size_t count) const;
    base::Result<sparse::Options> options_for(size_t participants, bool all_here) const;
    bool goes_dense(size_t participants, size_t count, const sparse::Options& options);
    // What the state owes, which is at an end.
    Debt debt_of(const Key& key, sparse::SparseState& state) const;
    void bequeath(control::Rank owner);
    void give_if_leaving();
    void inherit(Debt debt);
    bool is_free(const sparse::SparseState& state) const;
    // Over so many floats and as many others, in pieces, after all that was asked for before.
    void work(size_t count, kernels::WorkerPool::Work work, kernels::Strand::Done done = {});
    void await_strand();
    // Takes over what was inherited, for as long as no exchange works on the state.
    void settle(const Key& key, const std::shared_ptr<sparse::SparseState>& state);

    JobState& job_;
    std::function<void()> ready_;
    std::map<Key, std::shared_ptr<sparse::SparseState>> states_;
    kernels::Strand strand_;  // works on states and debts
    bool awaits_strand_ = false;
    bool exchanging_ = false;      // one works on states, also when none is begun yet
    std::vector<Debt> inherited_;  // not in a state yet
    std::vector<control::Rank> departed_;
    Handover handover_;
    std::string last_reason_;  // why dense or sparse, as it was last logged
};

}  // namespace pace::daemon
