// Repeated: when to say again what still holds: at once, then after ten seconds, and after twice as long each time, up to ten minutes.
//
// Each of several things has times of its own. However many there are, the memory is bounded: the last ones share theirs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"

namespace pace::base {

class Repeated {
  public:
    static constexpr Duration kFirst = std::chrono::seconds(10);
    static constexpr Duration kLast = std::chrono::minutes(10);
    static constexpr size_t kThingsMax = 64;

    // It holds now. Returns how often it was so since it was said last, this time included, if it is to be said; else 0.
    uint64_t is_due(const std::string& thing, TimePoint now) {
        const bool known = things_.contains(thing);
        Said& said = things_[known || things_.size() < kThingsMax ? thing : std::string()];
        ++said.times;
        if (now < said.next) return 0;
        // What has not been so for long is new again.
        const bool anew = now - said.next > kLast;
        said.interval = anew ? kFirst : std::min(said.interval * 2, kLast);
        said.next = now + said.interval;
        const uint64_t times = said.times;
        said.times = 0;
        return times;
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
