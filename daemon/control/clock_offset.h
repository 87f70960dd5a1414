// ClockOffset: by how much the controller's clock is ahead of this node's, measured with heartbeats
// and their answers.
//
// An answer was written between the heartbeat's departure and the answer's arrival. Assuming the
// middle is wrong by at most half of that time. The fastest of the recent answers is the most exact
// (Cristian, 1989).
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
        // The controller's clock minus this node's (base::now_ns).
        int64_t offset_ns = 0;
        // Upper bound of the error.
        uint64_t error_ns = 0;
    };

    // To be called when a heartbeat is sent, with a time not after its departure.
    void said(uint64_t number, uint64_t now_ns) {
        number_ = number;
        said_ns_ = now_ns;
    }
    // To be called when the heartbeat's answer has come. `theirs_ns` is the controller's clock when
    // it wrote the answer; 0: unknown.
    void answered(uint64_t number, uint64_t theirs_ns, uint64_t now_ns) {
        if (number != number_ || theirs_ns == 0 || number == 0 || now_ns < said_ns_) return;
        number_ = 0;
        const uint64_t half = (now_ns - said_ns_) / 2;
        last_[count_++ % last_.size()] = {static_cast<int64_t>(theirs_ns - (said_ns_ + half)),
                                          half};
    }
    // For a new controller, or a restarted one: its clock is another.
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
    // Number of the last heartbeat; 0 once it is answered.
    uint64_t number_ = 0;
    uint64_t said_ns_ = 0;
};

}  // namespace pace::daemon
