// Doubt: whether the cluster may have gone on without this node.
//
// A process that stood still (frozen, without a processor, or on a machine that slept) may have
// been given up in the meantime. It has not read the notice yet, but its sockets may already hold
// all it needs to complete an exchange. So all that nodes must agree upon waits until the
// controller has answered a question that was sent after the process ran again. If the controller
// had given this node up, that notice would arrive before the answer.
//
//     sure ── looked too late ──▶ in doubt ── said(n) ──▶ asked ── answered(≥ n) ──▶ sure
//                                     ▲                      │
//                                     └──── detached() ──────┘
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace pace::daemon {

// All times are of the clock that goes on while the machine sleeps (base::now_through_sleep).
class Doubt {
  public:
    // The loop is expected to call look() at `due`. A call later than `due` by more than `patience`
    // means that the process stood still.
    void expect(base::TimePoint due, base::Duration patience) {
        due_ = due;
        patience_ = patience;
    }
    // To be called when the loop runs.
    void look(base::TimePoint now) { is_in_ = is_at(now); }
    // No call of look() is expected any more.
    void rest() { due_ = base::TimePoint::max(); }

    // Whether there is doubt at `now`, even if look() has not been called yet.
    bool is_at(base::TimePoint now) const {
        return is_in_ || (now > due_ && now - due_ > patience_);
    }
    // A standstill has been noticed, and no question has been sent since.
    bool has_to_ask() const { return is_in_ && !asked_; }

    // A question has been sent; numbers increase. The controller writes its answer after the
    // question arrived.
    void said(uint64_t number) {
        if (has_to_ask()) asked_ = number;
    }
    void answered(uint64_t number);
    // The controller will not answer the sent question any more.
    void detached() { asked_.reset(); }

    // Calls `go_on` when there is no doubt: at once, or from answered().
    void when_sure(base::TimePoint now, std::function<void()> go_on);

  private:
    base::TimePoint due_ = base::TimePoint::max();
    base::Duration patience_{};
    bool is_in_ = false;
    std::optional<uint64_t> asked_;
    std::vector<std::function<void()>> waiting_;
};

}  // namespace pace::daemon
