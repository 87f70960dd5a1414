// StatusQuestions: who waits for the controller's status document. One question is under way at a time; who asks meanwhile gets its answer, too.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace pace::daemon::control {

class StatusQuestions {
  public:
    // A question that is not answered for so long is asked again.
    static constexpr base::Duration kPatience = std::chrono::seconds(1);

    // More are forgotten, the first ones first: their askers give up by themselves.
    static constexpr size_t kWaitingMax = 4096;

    // True if the question has to be sent now.
    bool ask(uint64_t request, base::TimePoint now) {
        if (waiting_.size() >= kWaitingMax) waiting_.erase(waiting_.begin());
        waiting_.push_back(request);
        if (asked_ && now - asked_at_ < kPatience) return false;
        asked_ = true;
        asked_at_ = now;
        return true;
    }
    // It could not be sent.
    void not_sent() {
        asked_ = false;
        waiting_.pop_back();
    }

    // The number of the last answer over this connection, which the next question names.
    uint64_t seen() const { return seen_; }

    // The answer with this number has come. Returns who waits for it.
    std::vector<uint64_t> answered(uint64_t number) {
        seen_ = number;
        asked_ = false;
        return std::exchange(waiting_, {});
    }

    // The connection is another one: what was under way is gone, and whoever waits asks again.
    void forget() { *this = {}; }

  private:
    std::vector<uint64_t> waiting_;
    bool asked_ = false;
    base::TimePoint asked_at_{};
    uint64_t seen_ = 0;
};

}  // namespace pace::daemon::control
