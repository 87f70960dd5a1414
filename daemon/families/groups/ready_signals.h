// ReadySignals: what the controller is told of workers that wait for a group, or will. Algorithm 2
// of Miao et al., SIGMOD 2021, begins with such a signal. It is dropped while there is no
// controller, and sent again when there is one.
#pragma once

#include <map>

#include "daemon/members/job_state.h"

namespace pace::daemon {

class ReadySignals {
  public:
    explicit ReadySignals(JobState& job) : job_(job) {}

    // The worker has called. Nothing is said of a worker that is behind with its buffers.
    void send(Worker& worker, control::ReadyStage stage);
    // The worker's group has failed because of a cut connection. Signals after a pause: until the
    // controller knows of the cut, and what to do about it, it would name the same group.
    void send_later(const WorkerPtr& worker);
    // The trainer asked to cancel the worker's call. An answer or an order follows.
    void withdraw(Worker& worker);

    // The worker still computes; `worker.announced` says what it will call.
    void announce(const Worker& worker);
    // It will not call as announced.
    void take_back(const Worker& worker);

  private:
    JobState& job_;
    std::map<control::Rank, base::Timer> pauses_;  // before a worker signals again
};

}  // namespace pace::daemon
