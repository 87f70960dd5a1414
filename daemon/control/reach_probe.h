// ReachProbe: whether anything listens at a TCP address, and if not, why. ZeroMQ itself retries
// without reporting a reason.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/threads/background_thread.h"
#include "service/controller/zmq/endpoint.h"

namespace pace::daemon::control {

class ReachProbe {
  public:
    // Probes in a thread of its own, since resolving a name blocks. Does nothing while a probe
    // runs.
    void begin(const control_zmq::TcpEndpoint& where);

    // The findings so far; an empty text means that the address can be reached. None: nothing is
    // known.
    std::optional<std::string> found() const;

  private:
    struct Findings {
        std::mutex mutex;
        bool under_way = false;
        std::optional<std::string> found;
    };

    std::shared_ptr<Findings> findings_ = std::make_shared<Findings>();
    base::BackgroundThread thread_;
};

}  // namespace pace::daemon::control
