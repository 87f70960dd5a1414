// Rounds: the verbs for all members (reduce, broadcast, sync, barrier), one after the other, over the job's view.
//
// A round begins at a node when all its members have called; no controller is on its path. A round commits at all
// its surviving members or at none: a node that has the whole result commits, and keeps it until it has committed the
// next round. When the membership changes, the controller first stops everyone (prepare), learns how many rounds each node
// has committed, and then lets all continue (commit): a node that is one round behind fetches that round's result from one
// that has it; a round that nobody has committed is redone by the new members. Nodes are never further apart than one round, because
// nobody can commit round n + 1 before everybody has begun it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/exchange/gift.h"
#include "daemon/exchange/job_state.h"

namespace pace::daemon {

class Rounds {
  public:
    explicit Rounds(JobState& job) : job_(job) {}

    // Begins the next round if every member on this node has called.
    void try_start();

    void prepare(uint64_t epoch);
    // The view is in the JobState already.
    void commit(const control::CommitView& view);
    // This node was excluded: nothing of the old view holds.
    void invalidate(const base::Error& error);

    // The members of a group have signalled since the last round: these nodes have its result. Gives its memory if all have.
    Scratch met(const std::vector<NodeId>& nodes);

    uint64_t completed() const { return completed_; }
    bool stopped() const { return preparing_ != 0; }

  private:
    // The result of the last committed round, if other nodes took part. The next reduction forms in the same memory: it writes
    // nothing there before all nodes have begun it, and who has begun it needs this no more. Nor does who is in a group since:
    // an averaging job's first groups take the memory over.
    struct Retained {
        bool valid = false;
        size_t bytes = 0;
        uint32_t check = 0;
        Scratch memory;
        std::vector<NodeId> unmet;  // may still need it
    };

    Exchange::Plan plan_round(const std::vector<WorkerPtr>& members) const;
    void begin(Exchange::Plan plan, const std::vector<WorkerPtr>& members);
    bool may_form_in_retained(const Exchange::Plan& plan) const;
    void keep_result(Exchange& exchange, const base::Result<>& result);
    void ended(Exchange& exchange, const std::vector<WorkerPtr>& members,
               const base::Result<>& result);
    void commit_round(const Exchange& exchange, const std::vector<WorkerPtr>& members);
    void fail_round(const std::vector<WorkerPtr>& members, const base::Error& error);
    void wait_again(const WorkerPtr& worker);
    void answer_prepare();
    void fetch_from(NodeId donor);
    void serve(NodeId node);
    void stop_gifts(const base::Error& error);
    uint64_t round_number() const;

    JobState& job_;
    uint64_t completed_ = 0;
    uint64_t preparing_ = 0;  // epoch; 0: not stopped
    std::shared_ptr<Exchange> active_;
    // Over which the last round began: also that of its result, when this node has to fetch it.
    View round_view_;
    Retained retained_;
    bool lent_ = false;  // the exchange under way has the memory of retained_
    std::vector<std::weak_ptr<Gift>> gifts_;
};

}  // namespace pace::daemon
