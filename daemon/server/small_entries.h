// SmallEntries: the elements of a worker's updates that are too small to send. They wait until they
// have grown (Jiang et al., SIGMOD 2017, section 5.3: "say less than 10⁻⁶"). The paper drops these
// elements, but here nothing is lost.
#pragma once

#include "daemon/server/hybrid_vector.h"

namespace pace::server {

class SmallEntries {
  public:
    // `length` is the number of elements of the updates. Magnitudes below `filter` wait. 0 means
    // that nothing waits.
    SmallEntries(size_t length, float filter) : filter_(filter), waiting_(length) {}

    // Adds the update to the waiting elements. Returns those elements that are to be sent. The
    // small elements keep waiting.
    HybridVector pass(HybridVector update);

    const HybridVector& waiting() const { return waiting_; }

  private:
    float filter_;
    HybridVector waiting_;  // settled
};

}  // namespace pace::server
