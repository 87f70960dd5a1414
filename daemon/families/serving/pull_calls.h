// PullCalls: workers' first requests that want the model: pulls, and broadcasts of workers that
// join. Each asks when the worker is a member, and ends with the model, or with the reason why it
// gets none.
#pragma once

#include <set>
#include <string>

#include "daemon/families/serving/pulls.h"
#include "daemon/families/serving/push_queue.h"

namespace pace::daemon {

class PullCalls {
  public:
    PullCalls(JobState& job, const ShardHost& host, Standings& standings, const Pushes& pushes,
              const PushQueue& queue, Pulls& pulls)
        : job_(job),
          host_(host),
          standings_(standings),
          pushes_(pushes),
          queue_(queue),
          pulls_(pulls) {}

    // These do what Serving says of them.
    void pull(const WorkerPtr& worker);
    bool join(const WorkerPtr& worker);
    bool leave_pull(Worker& worker);
    bool awaits_root(const Worker& worker) const;
    void begin_pull(const WorkerPtr& worker);
    void withdraw(const WorkerPtr& worker);
    void withdrawn(control::Rank rank);
    std::string awaited(const Worker& worker) const;

    // All that the worker has asked for is in its buffers.
    void pulled(const WorkerPtr& worker, uint64_t position, uint64_t slowest);
    // An update of the worker does not come: its request does not wait for that.
    void update_is_gone(const WorkerPtr& worker);
    // The request goes on in the new view. One for a lost model does not.
    void resume(const WorkerPtr& worker);
    // The model is that of a checkpoint again. False: the worker has no request that goes on with
    // that model. `first`: this is the first model that this node hears of.
    bool goes_on_restored(const WorkerPtr& worker, bool first);
    // There is a model again: requests that waited for one ask.
    void model_is_there();
    // Broadcasts that were held for their root go on, if it has not come for long.
    void look_again();
    // The worker's request waits for the model no more.
    void forget(control::Rank rank);

  private:
    std::optional<Ending> refused(const Worker& worker) const;
    bool joins(const Worker& worker) const;
    void ask(const WorkerPtr& worker);
    bool has_fallen_behind(const Worker& worker) const;
    void ask_if_fits(const WorkerPtr& worker);
    void begin_again(const WorkerPtr& worker);
    std::string slow_workers(uint64_t clock) const;

    JobState& job_;
    const ShardHost& host_;
    Standings& standings_;
    const Pushes& pushes_;
    const PushQueue& queue_;
    Pulls& pulls_;
    // Members whose request is from before they were members.
    std::set<control::Rank> joining_;
};

}  // namespace pace::daemon
