// Cable: TCP connections that can be cut without a notice to either end, as when a network splits.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace pace::cluster {

class Cable {
  public:
    // A connection to port() is connected to `target`. Both are on loopback.
    explicit Cable(uint16_t target);
    ~Cable();
    Cable(const Cable&) = delete;
    Cable& operator=(const Cable&) = delete;

    uint16_t port() const { return port_; }

    // No bytes pass any more. Bytes that are sent meanwhile wait, as far as the ends' buffers have
    // room.
    void cut() { set_passing(false); }
    void mend() { set_passing(true); }

  private:
    using Wire = std::pair<base::UniqueFd, base::UniqueFd>;

    void set_passing(bool passing);
    void run();
    void accept_one();
    bool forward(const Wire& wire, bool first, bool second) const;

    uint16_t target_;
    uint16_t port_ = 0;
    base::UniqueFd listener_;
    base::UniqueFd wakeup_;
    std::atomic<bool> passing_{true};
    std::atomic<bool> ended_{false};
    // Used only by the thread.
    std::vector<Wire> wires_;
    std::thread thread_;
};

}  // namespace pace::cluster
