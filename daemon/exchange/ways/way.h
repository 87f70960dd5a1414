// Way: one way to execute an exchange. The ways are tried in an order that favours the one that
// moves the least (exchange.cpp).
//
// Members' buffers are as they were until commit(), except where that is said.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/gpu/gpu_sum.h"

namespace pace::daemon {

class Way {
  public:
    Way() = default;
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;
    virtual ~Way() = default;

    // Whether the exchange goes this way. If not, it goes the next one. An error ends the exchange.
    virtual base::Task<base::Result<bool>> is_open() = 0;
    // Moves and sums until the result is there.
    virtual base::Task<base::Result<>> move() = 0;
    // After move() has failed: whether the exchange goes the next way instead.
    virtual bool gives_way() { return false; }
    // Ends what move() has left under way, and takes its result. The other nodes wait for it.
    virtual base::Task<base::Result<>> settle(base::Result<> moved) { co_return moved; }
    // Writes the result to this node's members. Nothing stops it.
    virtual base::Task<base::Result<>> commit() = 0;
    // The exchange has ended, well or not.
    virtual void end() {}

    // The exchange is given up: ends what is under way.
    virtual void abort(const base::Error& /*error*/) {}
    // Wakes what waits on the way, to see whether the exchange is given up.
    virtual void wake() {}

    // Whether this way works on this node alone just now.
    virtual bool is_working() const { return false; }
    // Since when it does what no other node's message shows; none: it does not.
    virtual std::optional<base::TimePoint> silent_since() const { return std::nullopt; }
    // For how long more than it should take.
    virtual base::Duration overdue(base::TimePoint /*now*/) const { return {}; }

    // The result, if it is on a GPU.
    virtual std::unique_ptr<DeviceResult> take_result() { return nullptr; }
};

}  // namespace pace::daemon
