// WorkerPort: what exchanges need from a trainer's session, which implements it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "daemon/members/request.h"

namespace pace::daemon {

// A worker's place, as the controller has accepted it.
struct Membership {
    uint32_t job = 0;
    uint32_t rank = 0;
    bool under_way = false;
};

class WorkerPort {
  public:
    virtual ~WorkerPort() = default;

    // The request has ended. Called exactly once for each request that was submitted while the
    // session lives.
    virtual void request_ended(uint64_t id, const Ending& ending) = 0;

    // The request has not ended and has waited for long; `what` it waits for, in words. Called now
    // and then while the request lasts.
    virtual void request_waits(uint64_t id, const std::string& what) = 0;

    // Whether a signal has stopped the trainer's process.
    virtual bool process_stopped() const = 0;
};

}  // namespace pace::daemon
