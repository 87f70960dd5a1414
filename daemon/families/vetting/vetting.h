// Vetting: looks for infinities and NaNs in gradients before these count, in jobs that refuse them
// (reject_nonfinite). This takes long for a large gradient, and a worker's later requests wait for
// it, so that requests stay in their order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "daemon/families/vetting/nonfinite.h"
#include "daemon/members/worker.h"
#include "daemon/runtime/services.h"

namespace pace::daemon {

class Vetting {
  public:
    // The request holds nothing that is refused, or need not be looked through. All earlier
    // requests of the worker have been passed or refused before.
    using Passed = std::function<void(const WorkerPtr&, Request)>;
    using Refused = std::function<void(const WorkerPtr&, const Request&, Place)>;

    // `looks`: whether this job refuses anything at all. `half`: the type as which larger elements
    // travel.
    Vetting(Services& services, bool looks, std::optional<protocol::DType> half, Passed passed,
            Refused refused)
        : services_(services),
          looks_(looks),
          half_(half),
          passed_(std::move(passed)),
          refused_(std::move(refused)) {}

    void submit(const WorkerPtr& worker, Request request);
    // Takes back a request that has not passed yet, and so has not done anything. False: there is
    // none.
    bool cancel(const Worker& worker, uint64_t id);
    // The worker is gone, and its requests here with it.
    void forget(const Worker& worker);

  private:
    struct Vetted {
        Request request;
        bool is_seen = false;
        std::optional<Place> place;  // of the first refused element
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
