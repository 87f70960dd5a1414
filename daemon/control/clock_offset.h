// ClockOffset: by how much the controller's clock is ahead of this node's, from heartbeats and their answers.
//
// An answer was written somewhere between the heartbeat's departure and its own arrival: the middle is wrong by half of that at most. The
// quickest of the last ones tells best (Cristian, 1989).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace pace::daemon {

class ClockOffset {
  public:
    struct Reading {
        int64_t offset_ns = 0;  // the controller's clock less this node's (base::now_ns)
        uint64_t error_ns = 0;  // at most
    };

    // A heartbeat leaves, not before `now_ns`.
    void said(uint64_t number, uint64_t now_ns) {
        number_ = number;
        said_ns_ = now_ns;
    }
    // Its answer has come, which was written at `theirs_ns` of the controller's clock; 0: it does not tell.
    void answered(uint64_t number, uint64_t theirs_ns, uint64_t now_ns) {
        if (number != number_ || theirs_ns == 0 || number == 0 || now_ns < said_ns_) return;
        number_ = 0;
        const uint64_t half = (now_ns - said_ns_) / 2;
        last_[count_++ % last_.size()] = {static_cast<int64_t>(theirs_ns - (said_ns_ + half)),
                                          half};
    }
    // Another controller, or the same anew, has another clock.
    void forget() { *this = {}; }

    std::optional<Reading> best() const {
        const size_t known = std::min(count_, last_.size());
        if (known == 0) return std::nullopt;
        return *std::min_element(
            last_.begin(), last_.begin() + static_cast<std::ptrdiff_t>(known),
            [](const Reading& one, const Reading& other) { return one.error_ns < other.error_ns; });
    }

  private:
    std::array<Reading, 32> last_{};
    size_t count_ = 0;
    uint64_t number_ = 0;  // of the last heartbeat, unless it was answered
    uint64_t said_ns_ = 0;
};

}  // namespace pace::daemon
