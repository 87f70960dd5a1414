// StatusQuestions: the requests that wait for the controller's status document. Only one question
// is in flight at a time; later requests share its answer.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace pace::daemon::control {

class StatusQuestions {
  public:
    // A question without an answer for this long is asked again.
    static constexpr base::Duration kPatience = std::chrono::seconds(1);

    // Limit of waiting requests. Above it the oldest are forgotten; their askers give up by
    // themselves.
    static constexpr size_t kWaitingMax = 4096;

    // Adds a request. Returns true if the question has to be sent now.
    bool ask(uint64_t request, base::TimePoint now) {
        if (waiting_.size() >= kWaitingMax) waiting_.erase(waiting_.begin());
        waiting_.push_back(request);
        if (asked_ && now - asked_at_ < kPatience) return false;
        asked_ = true;
        asked_at_ = now;
        return true;
    }
    // To be called if the question could not be sent.
    void not_sent() {
        asked_ = false;
        waiting_.pop_back();
    }

    // The number of the last answer over this connection; the next question names it.
    uint64_t seen() const { return seen_; }

    // Another large answer with this number has come.
    void saw(uint64_t number) { seen_ = number; }

    // To be called when the answer with this number has come. Returns the requests that wait for
    // it.
    std::vector<uint64_t> answered(uint64_t number) {
        seen_ = number;
        asked_ = false;
        return std::exchange(waiting_, {});
    }

    // To be called for a new connection: the question in flight is lost, and the askers ask again.
    void forget() { *this = {}; }

  private:
    std::vector<uint64_t> waiting_;
    bool asked_ = false;
    base::TimePoint asked_at_{};
    uint64_t seen_ = 0;
};

}  // namespace pace::daemon::control
