// PartialDelivery: the rounds of a job that does not wait for the slow, in the order of all rounds.
// Opens one after the other, takes the workers' calls into them, and delivers their results.
//
// A worker that has called gets the result of the round that ends next, even if its gradient comes
// too late for it. A worker that calls after rounds that it has missed gets their sum at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/families/rounds/last_result.h"
#include "daemon/families/rounds/partial_rounds.h"
#include "daemon/families/rounds/round_port.h"
#include "daemon/families/rounds/sequence.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class PartialDelivery final : private PartialRounds::Port {
  public:
    PartialDelivery(JobState& job, Sequence& sequence, LastResult& result, RoundPort& port)
        : job_(job),
          sequence_(sequence),
          result_(result),
          port_(port),
          rounds_(job, result, *this) {}

    PartialRounds& rounds() { return rounds_; }
    const PartialRounds& rounds() const { return rounds_; }
    // Whether a result is on its way to the workers, or waits until their buffers are free.
    bool is_delivering() const { return delivering_ != nullptr; }

    // Takes the gradient of the worker's first request, which is a reduce. False if the call has
    // ended the request.
    bool take_call(const WorkerPtr& worker);
    // Begins the next round, if none is under way, and tells it who has called.
    void open();
    // The round has this result.
    void deliver(const partial::RoundOutcome& outcome, Scratch memory);
    // The round has no result.
    void skip(const partial::RoundOutcome& outcome);
    // The round was a verb of all members, and has its result.
    void commit_full(protocol::Verb verb);
    // As Rounds::model_round().
    std::optional<uint64_t> model_round(const Worker& worker) const;

  private:
    struct Delivery;

    void ended(const base::Result<partial::RoundOutcome>& outcome) override;
    void failed_with(const base::Error& error);
    std::vector<WorkerPtr> members_here() const;
    std::vector<WorkerPtr> callers_here() const;
    bool give_missed(const WorkerPtr& worker);
    NodeId unlike_here(const partial::RoundOutcome& outcome) const;
    void deliver_later(const partial::RoundOutcome& outcome, Scratch memory);
    void delivered(const std::shared_ptr<Delivery>& delivery);
    void tell(const partial::RoundOutcome& outcome);
    Ending ending_of(const Worker& worker, uint64_t rounds, bool late);
    void end(const WorkerPtr& worker, Ending ending);

    JobState& job_;
    Sequence& sequence_;
    LastResult& result_;
    RoundPort& port_;
    PartialRounds rounds_;
    std::shared_ptr<Delivery> delivering_;
    // What all workers are told alike of the last round that had a sum, and when it began. Verbs
    // for all members may have come after it.
    Ending told_;
    uint64_t told_began_ns_ = 0;
};

}  // namespace pace::daemon
