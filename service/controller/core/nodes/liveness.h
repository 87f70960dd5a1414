// Liveness: how long a node may be silent, learnt from how often it is heard.
#pragma once

#include <cstdint>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class Liveness {
  public:
    Liveness() = default;
    Liveness(TimePoint now, Duration least, Duration most)
        : heard_(now), least_(least), most_(most) {}

    void on_heard(TimePoint now);

    TimePoint heard() const { return heard_; }

    // Between the least and the most; the most until enough gaps were observed.
    Duration patience() const;
    TimePoint deadline() const { return heard_ + patience(); }

  private:
    TimePoint heard_{};
    Duration least_{};
    Duration most_{};
    uint32_t gaps_ = 0;
    double mean_ns_ = 0;
    double deviation_ns_ = 0;
};

}  // namespace pace::controller
