// Progress: how much of a vector a node's members have made so far, counted from one of the
// vector's ends. Made elements no longer change and may be sent.
#pragma once

#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/collectives/layout/signal.h"
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
    // Returns whether the range is made. The ends of the range must be multiples of kCutBytes.
    bool covers(ByteRange range) const;

    // Reports that `elements` elements are made by now, counted from the end at which the order
    // begins. A smaller number than before changes nothing.
    void advance(uint64_t elements);
    // Resumes the waiters, so that they check other conditions.
    void wake() { changed_.notify(); }

    // Waits until more is made or wake() is called. Then the waiter must check again.
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
