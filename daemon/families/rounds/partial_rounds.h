// PartialRounds: the reductions of a job that does not wait for the slow (quorum other than all).
//
// One round is always under way at every node of the view. This class keeps the gradients that this
// node's workers hand in, and the results that they have missed. The order of the rounds, their
// commit and the views are those of all rounds (rounds.h). Each round is such a reduction, or, if
// all workers have called one, a verb of all members.
//
// A worker that joins while rounds go on gets the model of a donor, which has the results of the
// rounds before some number. Until that number is known, all results that were committed here since
// the newcomer's view are kept. If they become many, this node holds the rounds up.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "daemon/exchange/partial_run.h"
#include "daemon/families/rounds/last_result.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

class PartialRounds {
  public:
    class Port {
      public:
        // The round under way has ended.
        virtual void ended(const base::Result<partial::RoundOutcome>& outcome) = 0;

      protected:
        ~Port() = default;
    };

    // Each round's sum forms in the memory of the last result, which nobody needs any more once all
    // nodes have begun the round.
    PartialRounds(JobState& job, LastResult& result, Port& port);
    ~PartialRounds();
    PartialRounds(const PartialRounds&) = delete;
    PartialRounds& operator=(const PartialRounds&) = delete;

    // ---- workers

    // Adds a worker that has the results of the rounds before `round`.
    void join(control::Rank rank, uint64_t round);
    bool has(control::Rank rank) const { return books_->store.has_worker(rank); }
    // The round before which the worker's model has all results; none for an unknown worker.
    std::optional<uint64_t> base(control::Rank rank) const { return books_->store.base(rank); }
    // A newcomer has been given a model with the results of the rounds before `round`.
    void adopted(control::Rank rank, uint64_t round);
    void leave(control::Rank rank);
    // The node's place is void: it has no workers any more, and nothing that was handed in counts.
    void reset(const base::Error& error);

    // A worker waits for a model no more.
    void look_again() { update_hold(); }

    // ---- calls

    // Whether another node is telling this one what the buffers are: no call may say so meanwhile.
    bool is_learning() const { return run_ && !terms() && run_->round().has_taken(); }
    // Takes the gradient of the worker's first request, which is a reduce. Called once per request.
    base::Result<> hand_in(const WorkerPtr& worker);
    // Has the strand write the results of rounds before `round` that the worker has missed to the
    // worker's buffers. None if the worker is up to date.
    std::optional<partial::MissedRounds> catch_up(const Worker& worker, uint64_t round);
    // The gradient of a worker that has caught up is there: the round under way may have waited for
    // it. May end that round.
    void handed_in_late();
    // Whether the gradient that the worker handed in last is in no round yet.
    bool stores(control::Rank rank) const { return books_->store.staleness(rank, 0).has_value(); }
    // Whether that gradient is in the round that ended with `outcome`.
    bool was_in_time(const partial::RoundOutcome& outcome, control::Rank rank) const;
    // Whether all workers are asked to sync after one of the rounds before `round`. Each worker is
    // told once. Verbs for all members have numbers too, but nobody is told after them; the next
    // reduce tells.
    bool asks_for_sync(control::Rank rank, uint64_t round);
    // Copies the worker's gradient if it is still needed. Its memory may be written to once the
    // strand has come to that.
    void free_memory(const Worker& worker);
    // Takes back the worker's first request. False if the round counts on it: then it goes on.
    bool withdraw(const Worker& worker);

    // ---- rounds

    bool under_way() const { return run_ != nullptr; }
    void begin(const View& view, uint64_t round);
    // Tells the round under way which waiting workers have called for it.
    void count_calls(const std::vector<WorkerPtr>& members);
    void abort(const base::Error& error);

    // After a round that ended with an error: put_back() if the round is done anew, used_up() if it
    // had been completed elsewhere.
    void put_back();
    void used_up();

    // The round has this result, which the workers `given` get now. The others get it with their
    // next call; until then the strand adds it up. Nobody else calls, and no other round begins,
    // before commit().
    void remember(uint64_t round, const partial::Missed::Outcome& result,
                  const std::vector<control::Rank>& given);
    void commit(uint64_t round, const std::vector<control::Rank>& given);
    // Commits a round that had no result for anybody.
    void commit_nothing(uint64_t round);
    // Commits a round that made all models equal: nobody has missed anything up to this round.
    void commit_equal(uint64_t round);

    // In words, whom the round under way waits for.
    std::string awaited() const;

    PartialRun* last() const { return last_.get(); }
    // Works on gradients and results, in the order in which the work was added.
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
    LastResult& result_;
    Port& port_;
    std::shared_ptr<kernels::Strand> strand_;
    base::Scope scope_;
    std::shared_ptr<PartialBooks> books_;
    std::shared_ptr<PartialRun> run_;   // under way
    std::shared_ptr<PartialRun> last_;  // ended; its contributions may not be settled yet
    std::deque<Recorded> recorded_;
    // The first round of which a worker was not told.
    std::map<control::Rank, uint64_t> told_before_;
};

// The quorum of a job with these options.
partial::Quorum quorum_of(const control::JobOptions& options, uint64_t seed);

}  // namespace pace::daemon
