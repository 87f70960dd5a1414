// DepartedCalls: calls of trainers that are gone. The controller may have ordered a group with such
// a call already, so the call's buffers are kept for a while.
#pragma once

#include <vector>

#include "daemon/members/job_state.h"

namespace pace::daemon {

class DepartedCalls {
  public:
    explicit DepartedCalls(const JobState& job) : job_(job) {}

    // The worker has a ready signal, and its first request outlives its trainer.
    void keep(const WorkerPtr& worker);
    // The worker whose call this part of an order with `digest` names: a worker of now, or one that
    // is gone, which is kept no more then; null: there is none.
    WorkerPtr claim(const control::Part& part, uint32_t digest);

  private:
    struct Departed {
        WorkerPtr worker;
        base::Timer expiry;
    };

    const JobState& job_;
    std::vector<Departed> departed_;
};

}  // namespace pace::daemon
