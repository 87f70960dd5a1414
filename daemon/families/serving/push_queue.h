// PushQueue: pushes of this node's workers that are not taken yet. A push waits until its worker
// has room for another update on the way to the shards.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "daemon/families/serving/pushes.h"
#include "daemon/families/serving/standings.h"

namespace pace::daemon {

class PushQueue {
  public:
    class Owner {
      public:
        virtual ~Owner() = default;
        // The push is in the queue no more.
        virtual void push_ended(const WorkerPtr& worker, const Request& request,
                                const Ending& ending) = 0;
    };

    PushQueue(JobState& job, const Standings& standings, Pushes& pushes, Owner& owner)
        : job_(job), standings_(standings), pushes_(pushes), owner_(owner) {}

    void add(const WorkerPtr& worker, Request request);
    // There may be room for another update of the worker.
    void go_on(const WorkerPtr& worker);
    // False if `id` is none of these pushes, or one that has begun.
    bool cancel(const WorkerPtr& worker, uint64_t id, const Ending& ending);
    void end_all(const WorkerPtr& worker, const Ending& ending);
    // The worker's trainer is gone.
    void forget(control::Rank rank);

    // The clock of the worker's next update, after those of its pushes here.
    uint64_t next_clock(control::Rank rank) const;
    // Visits the worker's pushes, and what each waits for, in words.
    void for_each(control::Rank rank,
                  const std::function<void(const Request&, const std::string& what)>& visit) const;
    // For whom the worker's updates wait, in words: the nodes that have not taken them.
    std::string awaited_by_updates(control::Rank rank) const;

  private:
    using RequestPtr = std::shared_ptr<const Request>;
    void took(const WorkerPtr& worker, const RequestPtr& request, const base::Result<bool>& taken);

    JobState& job_;
    const Standings& standings_;
    Pushes& pushes_;
    Owner& owner_;
    std::map<control::Rank, std::deque<Request>> waiting_;
    std::map<control::Rank, RequestPtr> taking_;  // the push before those, if it has begun
};

}  // namespace pace::daemon
