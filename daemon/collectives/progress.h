// Progress: how much of a vector a node's members have made so far, beginning at one of its ends. What is made is not changed
// any more, and may travel.
#pragma once

#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "daemon/collectives/layout.h"
#include "daemon/collectives/signal.h"
#include "protocol/types.h"

namespace pace::collectives {

class Progress {
  public:
    Progress(protocol::Order order, Layout layout, uint64_t elements)
        : order_(order),
          layout_(std::move(layout)),
          all_(layout_.elements_before(layout_.bytes())),
          elements_(elements) {}

    bool is_complete() const { return elements_ >= all_; }
    // Whether the range, with ends at multiples of kCutBytes, is made.
    bool covers(ByteRange range) const;

    // So many elements are made by now, from the end at which the order begins; fewer than before changes nothing.
    void advance(uint64_t elements);
    // Resumes who waits, to look at something else.
    void wake() { changed_.notify(); }

    // Until the range is made, or somebody calls wake(): look again.
    Signal::Awaiter changed() { return changed_.changed(); }

    protocol::Order order() const { return order_; }
    base::TimePoint moved() const { return moved_; }

  private:
    protocol::Order order_;
    Layout layout_;
    uint64_t all_;
    uint64_t elements_;
    base::TimePoint moved_ = base::now();
    Signal changed_;
};

}  // namespace pace::collectives
