// Vetting: looks through gradients for what is no number, in jobs that refuse such (reject_nonfinite), before they count. That takes
// long for a large one, so that a worker's later requests wait for it: they stay in their order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "daemon/exchange/nonfinite.h"
#include "daemon/exchange/services.h"
#include "daemon/exchange/worker.h"

namespace pace::daemon {

class Vetting {
  public:
    // The request has nothing that is refused, or is none to be looked through. Those before it have gone the same way.
    using Passed = std::function<void(const WorkerPtr&, Request)>;
    using Refused = std::function<void(const WorkerPtr&, const Request&, Place)>;

    // `looks`: whether this job refuses anything at all. `half`: as what larger elements travel.
    Vetting(Services& services, bool looks, std::optional<protocol::DType> half, Passed passed,
            Refused refused)
        : services_(services),
          looks_(looks),
          half_(half),
          passed_(std::move(passed)),
          refused_(std::move(refused)) {}

    void submit(const WorkerPtr& worker, Request request);
    // Takes back a request that has not passed yet, and so has neither done anything. False: there is none.
    bool cancel(const Worker& worker, uint64_t id);
    // The worker is gone, and what it has here with it.
    void forget(const Worker& worker);

  private:
    struct Vetted {
        Request request;
        bool is_seen = false;
        std::optional<Place> place;  // of what is refused
    };

    void seen(const WorkerPtr& worker, uint64_t serial, std::optional<Place> place);
    void hand_on(const WorkerPtr& worker);

    Services& services_;
    bool looks_;
    std::optional<protocol::DType> half_;
    Passed passed_;
    Refused refused_;
    std::map<const Worker*, std::deque<Vetted>> waiting_;
    base::Scope scope_;
};

}  // namespace pace::daemon
