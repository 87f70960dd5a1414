// PartialRounds: the reductions of a job that does not wait for the slow (quorum other than all).
//
// One round is always under way at every node of the view. What this node's workers hand in, and what they have missed, is
// kept here; the rounds' order, their commitment and the views are those of all rounds (rounds.h), of which each is either
// such a reduction or, when all workers have called one, a verb of all members.
//
// A worker that joins while rounds go on is given the model of a donor, which has the results of the rounds before some
// number; what was committed here since the newcomer's view is kept until that number is known. Should that become much,
// this node holds the rounds up.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "daemon/exchange/job_state.h"
#include "daemon/exchange/partial_run.h"

namespace pace::daemon {

class PartialRounds {
  public:
    struct Events {
        PartialRun::Done ended;         // the round under way
        std::function<Scratch()> lend;  // as PartialRun's
    };

    PartialRounds(JobState& job, Events events);
    ~PartialRounds();
    PartialRounds(const PartialRounds&) = delete;
    PartialRounds& operator=(const PartialRounds&) = delete;

    // ---- workers

    // Has the results of the rounds before `round`.
    void join(control::Rank rank, uint64_t round);
    bool has(control::Rank rank) const { return books_->store.has_worker(rank); }
    // The rounds before which its model has the results; none for a stranger.
    std::optional<uint64_t> base(control::Rank rank) const { return books_->store.base(rank); }
    // A newcomer has been given such a model.
    void adopted(control::Rank rank, uint64_t round);
    void leave(control::Rank rank);
    // The node's place is void: nobody is here any more, and nothing that was given counts.
    void reset(const base::Error& error);

    // A worker waits for a model no more.
    void look_again() { update_hold(); }

    // ---- calls

    // This node is being told what the buffers are: nobody's call may say so now.
    bool is_learning() const { return run_ && !terms() && run_->round().has_taken(); }
    // Takes the gradient that the worker's first request, a reduce, brings; once per request.
    base::Result<> hand_in(const WorkerPtr& worker);
    // What the worker has missed of the rounds before `round` is written to its buffers, by the strand; none if it is up to date.
    std::optional<partial::MissedRounds> catch_up(const Worker& worker, uint64_t round);
    // The gradient of a worker that has caught up is one that the round under way may wait for. May end that round.
    void handed_in_late();
    // What the worker has handed in last is in no round yet.
    bool stores(control::Rank rank) const { return books_->store.staleness(rank, 0).has_value(); }
    // Whether what the worker has handed in last is in the round that ended so.
    bool was_in_time(const partial::RoundOutcome& outcome, control::Rank rank) const;
    // Whether all are asked to sync after one of the rounds before `round`; told once to each worker. Verbs for all members
    // have numbers too, and nobody is told after those: whoever reduces next is.
    bool asks_for_sync(control::Rank rank, uint64_t round);
    // The worker's gradient is copied if it is needed still: its memory may be written to when the strand has come to it.
    void free_memory(const Worker& worker);
    // False if the round counts on the worker's first request: it goes on.
    bool withdraw(const Worker& worker);

    // ---- rounds

    bool under_way() const { return run_ != nullptr; }
    void begin(const View& view, uint64_t round);
    // Whoever waits has called for the round under way.
    void count_calls(const std::vector<WorkerPtr>& members);
    void abort(const base::Error& error);

    // The round that ended with an error is done anew, or had been completed elsewhere.
    void put_back();
    void used_up();

    // The round has this result, which `given` get: others are given it with their next call. What is added up of it then, the strand
    // does. Nobody else calls, and no other round begins, until commit().
    void remember(uint64_t round, const partial::Missed::Outcome& result,
                  const std::vector<control::Rank>& given);
    void commit(uint64_t round, const std::vector<control::Rank>& given);
    // The round had no result for anybody.
    void commit_nothing(uint64_t round);
    // The round has made all models equal: nobody has missed anything before or in it.
    void commit_equal(uint64_t round);

    // Of the round under way: whom it waits for, in words.
    std::string awaited() const;

    PartialRun* last() const { return last_.get(); }
    // Does what touches gradients and results, in the order in which this is called.
    kernels::Strand& strand() { return *strand_; }
    const std::optional<partial::Terms>& terms() const { return books_->store.terms(); }
    void agree(partial::Terms terms);

  private:
    struct Recorded {
        uint64_t round = 0;
        std::shared_ptr<Scratch> result;
    };

    bool is_recording() const;
    void record(uint64_t round, const partial::Missed::Outcome& result);
    std::shared_ptr<PartialBooks> new_books();
    partial::Missed& missed();
    void update_hold();
    partial::RoundPlan plan_of(const View& view, uint64_t round) const;

    JobState& job_;
    Events events_;
    std::shared_ptr<kernels::Strand> strand_;
    base::Scope scope_;
    std::shared_ptr<PartialBooks> books_;
    std::shared_ptr<PartialRun> run_;   // under way
    std::shared_ptr<PartialRun> last_;  // ended; its contributions may not be settled yet
    std::deque<Recorded> recorded_;
    std::map<control::Rank, uint64_t>
        told_before_;  // the first round that a worker was not told of
};

// What the rounds of such a job are, by its options.
partial::Quorum quorum_of(const control::JobOptions& options, uint64_t seed);

}  // namespace pace::daemon
