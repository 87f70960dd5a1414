// SmallEntries: the elements of a worker's updates that are too small to send, and wait until they have grown (Jiang et al., SIGMOD
// 2017, section 5.3: "say less than 10⁻⁶"; the paper drops them, here nothing is lost).
#pragma once

#include "daemon/server/hybrid_vector.h"

namespace pace::server {

class SmallEntries {
  public:
    // Of updates of so many elements. Magnitudes below `filter` wait; 0 keeps nothing back.
    SmallEntries(size_t length, float filter) : filter_(filter), waiting_(length) {}

    // What of the update is to be sent, what waited for these elements included. What waits for others stays.
    HybridVector pass(HybridVector update);

    const HybridVector& waiting() const { return waiting_; }

  private:
    float filter_;
    HybridVector waiting_;  // settled
};

}  // namespace pace::server
