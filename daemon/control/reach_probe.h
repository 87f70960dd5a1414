// ReachProbe: whether anything listens at a TCP address, and if not, why. ZeroMQ tries again and again without a word.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/background_thread.h"
#include "service/controller/shell/zmq/endpoint.h"

namespace pace::daemon::control {

class ReachProbe {
  public:
    // Looks in a thread of its own, since resolving a name blocks. Does nothing while one look is under way.
    void begin(const control_zmq::TcpEndpoint& where);

    // What is known by now; empty: it can be reached. None: nothing is known.
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
