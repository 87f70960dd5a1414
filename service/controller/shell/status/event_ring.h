// EventRing: the latest events of interest to an operator, for the status document. Numbers
// increase over the controller's life.
//
// The ring is bounded in events and in bytes. No kind of event has more than a quarter of the
// places: thousands of failed groups do not displace the loss of a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class EventRing {
  public:
    static constexpr size_t kEventsMax = 1024;
    static constexpr size_t kOfAKindMax = kEventsMax / 4;
    static constexpr size_t kTextBytesMax = 512;  // of one event; the rest is cut
    static constexpr size_t kBytesMax = size_t{128} << 10U;

    struct Event {
        uint64_t number = 0;
        int64_t at_unix_ms = 0;
        Note note;
    };

    void add(Note note, int64_t at_unix_ms);

    // Oldest first. Numbers may be missing in between.
    const std::deque<Event>& events() const { return events_; }
    // The smallest number still kept; if the ring is empty, the next event's number.
    uint64_t first() const { return events_.empty() ? next_ : events_.front().number; }
    uint64_t next() const { return next_; }
    size_t bytes() const { return bytes_; }

  private:
    void forget(const std::deque<Event>::const_iterator& event);
    void forget_oldest_of(const std::string& kind);

    std::deque<Event> events_;
    std::map<std::string, size_t> of_kind_;
    size_t bytes_ = 0;
    uint64_t next_ = 1;
};

}  // namespace pace::controller
