// WorkerPort: what the exchanges need of a trainer's session. The session implements it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "daemon/exchange/request.h"

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

    // The request has ended; called exactly once for each that was submitted while the session lives.
    virtual void request_ended(uint64_t id, const Ending& ending) = 0;

    // The request, which has not ended, has waited for long: for what, in words. Called now and then while it lasts.
    virtual void request_waits(uint64_t id, const std::string& what) = 0;

    // Is the trainer's process stopped by a signal?
    virtual bool process_stopped() const = 0;
};

}  // namespace pace::daemon
