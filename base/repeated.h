// Repeated: decides when to log again that something still holds. The first message comes at once,
// the next after ten seconds. Each further interval is twice as long, up to ten minutes.
//
// Each thing has its own times. The memory is bounded, however many things there are: when the
// table is full, all further things share one entry.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"

namespace pace::base {

class Repeated {
  public:
    static constexpr Duration kFirst = std::chrono::seconds(10);
    static constexpr Duration kLast = std::chrono::minutes(10);
    static constexpr size_t kThingsMax = 64;

    // Called when `thing` holds now, or has held `times` times by now. If it is to be logged,
    // returns how often the thing has held since the last message, this time included. Otherwise
    // returns 0.
    uint64_t is_due(const std::string& thing, TimePoint now, uint64_t times = 1) {
        const bool known = things_.contains(thing);
        Said& said = things_[known || things_.size() < kThingsMax ? thing : std::string()];
        said.times += times;
        if (now < said.next) return 0;
        // A thing that has not held for long counts as new.
        const bool anew = now - said.next > kLast;
        said.interval = anew ? kFirst : std::min(said.interval * 2, kLast);
        said.next = now + said.interval;
        return std::exchange(said.times, uint64_t{0});
    }

    void forget() { things_.clear(); }

  private:
    struct Said {
        TimePoint next{};
        Duration interval = kFirst / 2;
        uint64_t times = 0;
    };
    std::map<std::string, Said> things_;
};

}  // namespace pace::base
