// Timetable: events in virtual time. Events of one time happen in the order in which they were
// entered.
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

    // The time of the next event. The timetable must not be empty.
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
