// Clockwork: the time of a world, what is to happen when, and the one source of chance.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"

namespace pace::world {

using base::Duration;
using base::TimePoint;

inline Duration uniform_of(base::Random& random, Duration least, Duration most) {
    return least + Duration(static_cast<int64_t>(
                       random.below(static_cast<uint64_t>((most - least).count()) + 1)));
}

// FNV-1a's step, on whole numbers.
inline uint64_t hashed(uint64_t hash, uint64_t value) {
    return (hash ^ value) * 0x100000001B3U;
}
inline constexpr uint64_t kHashBegin = 0xCBF29CE484222325U;

class Clockwork {
  public:
    static constexpr TimePoint kBegin{std::chrono::seconds(1000)};

    explicit Clockwork(uint64_t seed) : random_(seed) {}

    TimePoint now() const { return now_; }
    void advance(TimePoint to) {
        if (to > now_) now_ = to;
    }

    void at(TimePoint when, std::function<void()> run) {
        tasks_.push({when, order_++, std::move(run)});
    }
    void after(Duration delay, std::function<void()> run) { at(now_ + delay, std::move(run)); }
    // Runs what is due. False if nothing was.
    bool run_due() {
        bool ran = false;
        while (!tasks_.empty() && tasks_.top().when <= now_) {
            const std::function<void()> run = tasks_.top().run;
            tasks_.pop();
            run();
            ran = true;
        }
        return ran;
    }
    std::optional<TimePoint> next() const {
        if (tasks_.empty()) return {};
        return tasks_.top().when;
    }

    uint64_t below(uint64_t bound) { return random_.below(bound); }
    Duration uniform(Duration least, Duration most) { return uniform_of(random_, least, most); }

  private:
    struct Task {
        TimePoint when;
        uint64_t order = 0;
        std::function<void()> run;
        bool operator<(const Task& other) const {
            return when != other.when ? when > other.when : order > other.order;
        }
    };

    TimePoint now_ = kBegin;
    base::Random random_;
    std::priority_queue<Task> tasks_;
    uint64_t order_ = 0;
};

}  // namespace pace::world
