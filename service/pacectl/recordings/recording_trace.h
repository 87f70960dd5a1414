// RecordingTrace: what the flight recorders of daemons hold, as one Chrome trace: calls and
// exchanges as bars, all else as points.
//
// Each daemon writes times of its own clock, and how the controller's stands to it. The clocks of
// several are made one by the latter, or, if one of them does not know it, by the hosts' wall
// clocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/pacectl/console/document.h"
#include "service/pacectl/recordings/recording_clock.h"

namespace pace::pacectl {

class RecordingTrace {
  public:
    // A daemon's recording, as it gives it or has kept it in a file, or a trace that was made of
    // one. Fails with what it is instead.
    base::Result<> add(const Json& document);

    Json chrome() const;

    size_t nodes() const { return parts_.size(); }
    size_t events() const;
    // Whether all know the controller's clock; otherwise they are only as near as the hosts' clocks
    // are.
    bool is_exact() const;

  private:
    struct Part {
        std::string node;
        RecordingClock clock;
        Json about;   // as it stands in the trace
        Json events;  // in the daemon's own time
    };

    double shift_us(const Part& part) const;

    std::vector<Part> parts_;
};

}  // namespace pace::pacectl
