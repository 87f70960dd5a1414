// Doubt: whether the cluster may have gone on without this node.
//
// A process that stood still, frozen or without a processor, may have been given up meanwhile, and has not read that yet; but what it needs to
// end what it was in may lie in its sockets. So whatever all nodes must agree upon waits from the moment at which the process runs again until
// the controller has answered something that was said since: had it given this node up, that would come first.
//
//     sure ── comes by too late ──▶ in doubt ── said(n) ──▶ asked ── answered(≥ n) ──▶ sure
//                                       ▲                      │
//                                       └──── detached() ──────┘
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace pace::daemon {

class Doubt {
  public:
    // The loop is to come by then. Whoever comes by later than that, by more than `patience`, stood still.
    void expect(base::TimePoint due, base::Duration patience) {
        due_ = due;
        patience_ = patience;
    }
    // It has come by.
    void look(base::TimePoint now) { is_in_ = is_at(now); }
    // It is not to come by any more.
    void rest() { due_ = base::TimePoint::max(); }

    // Also before anybody has come by.
    bool is_at(base::TimePoint now) const {
        return is_in_ || (now > due_ && now - due_ > patience_);
    }
    // What says that it stood still has been noticed, and nothing has been asked since.
    bool has_to_ask() const { return is_in_ && !asked_; }

    // A question has been sent, by increasing numbers; what answers it was said after it came.
    void said(uint64_t number) {
        if (has_to_ask()) asked_ = number;
    }
    void answered(uint64_t number);
    // Whoever was asked will not answer any more.
    void detached() { asked_.reset(); }

    // Calls `go_on` when all is sure: at once, or from answered().
    void when_sure(base::TimePoint now, std::function<void()> go_on);

  private:
    base::TimePoint due_ = base::TimePoint::max();
    base::Duration patience_{};
    bool is_in_ = false;
    std::optional<uint64_t> asked_;
    std::vector<std::function<void()>> waiting_;
};

}  // namespace pace::daemon
