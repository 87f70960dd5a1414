// Timetable: what is to happen when, in virtual time. What happens at one time happens in the order in which it was entered.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/clock.h"

namespace pace::simulator {

template <typename What>
class Timetable {
  public:
    struct Entry {
        base::TimePoint when;
        uint64_t order = 0;
        What what{};
        uint32_t id = 0;
        bool operator>(const Entry& other) const {
            return when != other.when ? when > other.when : order > other.order;
        }
    };

    void at(base::TimePoint when, What what, uint32_t id) {
        entries_.push({when, next_order_++, what, id});
    }

    bool empty() const { return entries_.empty(); }

    // When the next thing happens. Not empty.
    base::TimePoint next() const { return entries_.top().when; }

    Entry take() {
        const Entry entry = entries_.top();
        entries_.pop();
        return entry;
    }

  private:
    uint64_t next_order_ = 0;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;
};

}  // namespace pace::simulator
