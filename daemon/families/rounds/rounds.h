// Rounds: the verbs for all members (reduce, broadcast, sync, barrier), one after the other, over
// the job's view.
//
// A round begins at a node when all its members have called; the controller is not on its path. A
// round commits at all its surviving members or at none: a node that has the whole result commits,
// and keeps the result until it has committed the next round. When the membership changes, the
// controller first stops all nodes (prepare), learns how many rounds each has committed, and then
// lets all continue (commit). A node that is one round behind fetches that round's result from a
// node that has it; a round that nobody has committed is redone by the new members. Nodes are never
// further apart than one round, because nobody can commit round n + 1 before everybody has begun
// it.
//
// This class asks each part in turn. Which round comes next is in Sequence. A round is attempted by
// FullRound or, in a job that does not wait for the slow, by PartialDelivery. LastResult keeps what
// other nodes may lack, and MissedRound gets what this node lacks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/timer.h"
#include "daemon/families/rounds/compression.h"
#include "daemon/families/rounds/full_round.h"
#include "daemon/families/rounds/last_result.h"
#include "daemon/families/rounds/missed_round.h"
#include "daemon/families/rounds/partial_delivery.h"
#include "daemon/families/rounds/sequence.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class Rounds final : private MissedRound::Port {
  public:
    explicit Rounds(JobState& job);

    // The worker's first request is for a round.
    void called(const WorkerPtr& worker);
    // Begins the next round if all members on this node have called. In a job of partial rounds a
    // round is always under way.
    void try_start() override;
    // Gives up the worker's first request. False if a round counts on the request: then it goes on.
    bool withdraw(const Worker& worker);
    // Whether the worker's first request was in a round that has failed here, and that another node
    // may have completed. The next view decides: until then the request cannot be given up.
    bool is_undecided(const Worker& worker) const {
        return !partial_ && full_.is_undecided(worker);
    }
    // Takes the worker out of the job. True if a round under way has the worker's first request,
    // which then ends with that round.
    bool suspend(const Worker& worker);
    // The worker's trainer is gone, or its place is void.
    void departed(const Worker& worker);
    // The worker is gone for good.
    void left(const Worker& worker);
    // Runs a verb that concerns this node alone.
    void run_local(const WorkerPtr& worker, const Residuals::Done& done);
    // The worker's state has changed in another way.
    void look_again() {
        if (partial_) partial_->rounds().look_again();
    }

    // How many rounds' results the worker's model has; none if a newcomer may not get the model
    // now.
    std::optional<uint64_t> model_round(const Worker& worker) const;
    // The newcomer has been given a model with the results of the rounds before `round`.
    void adopted(const Worker& newcomer, uint64_t round) {
        if (partial_) partial_->rounds().adopted(newcomer.rank, round);
    }

    // As Sequence's. Another view's rounds begin with commit(), when the view is in the JobState.
    void prepare(uint64_t epoch);
    void hold(uint64_t epoch) { sequence_.hold(epoch); }
    void commit(const control::CommitView& view);
    // Ends what is under way with other nodes.
    void stop(const base::Error& error);
    // This node was excluded: nothing of the old view holds.
    void invalidate(const base::Error& error);

    // As LastResult's, while no exchange uses the memory.
    void met(const std::vector<NodeId>& nodes) {
        if (!exchange()) result_.met(nodes);
    }
    Scratch spare_memory() { return exchange() ? Scratch() : result_.spare_memory(); }

    // Whether the last round's result, or residuals of this node, are on their way to other nodes.
    bool is_giving() const {
        return result_.is_giving() || compression_.residuals().is_handing_over();
    }
    // As Residuals'.
    bool owes() const { return compression_.residuals().owes(); }
    std::optional<KeptBack> kept_back(const Worker& worker) const {
        return compression_.residuals().kept_back(worker);
    }

    bool is_exchanging() const { return is_busy() || is_partial_under_way(); }
    // In words, whom the caller waits for: whom the next round, or the one under way, lacks.
    std::string awaited(const Worker& caller) const;
    uint64_t completed() const { return sequence_.completed(); }
    bool stopped() const { return sequence_.stopped(); }
    uint64_t preparing() const { return sequence_.preparing(); }

  private:
    void go_on() override;
    void wait_for_view() override;
    void fetch_result(NodeId donor) override { full_.fetch(donor); }
    void result_is_lost() override { full_.result_is_lost(); }
    void deliver(const partial::RoundOutcome& outcome, Scratch sum) override {
        partial_->deliver(outcome, std::move(sum));
    }
    void skip(const partial::RoundOutcome& outcome) override { partial_->skip(outcome); }

    const std::shared_ptr<Exchange>& exchange() const {
        return full_.exchange() ? full_.exchange() : missed_.exchange();
    }
    bool is_busy() const { return exchange() || (partial_ && partial_->is_delivering()); }
    bool is_partial_under_way() const { return partial_ && partial_->rounds().under_way(); }
    void look_for_roots();
    void answer_prepare();
    void send_prepared();
    void end_suspended();
    void leave_view();

    JobState& job_;
    Sequence sequence_;
    LastResult result_;
    Compression compression_;
    std::unique_ptr<PartialDelivery> partial_;  // null unless the job has partial rounds
    FullRound full_;
    MissedRound missed_;
    base::Timer root_timer_;  // until the first broadcast has waited long enough for its root
};

}  // namespace pace::daemon
