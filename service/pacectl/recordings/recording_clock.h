// RecordingClock: how the clock of the daemon that made a recording stands to other clocks.
#pragma once

#include <cstdint>
#include <optional>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

struct RecordingClock {
    uint64_t now_ns = 0;  // on the daemon's clock, when the recording was made
    // What is to be added to a time of the daemon's clock.
    int64_t to_unix_us = 0;
    std::optional<int64_t> to_controller_us;  // none: the daemon does not know it
};

// The member "clock" of a recording, or of what `pacectl record` has written about one.
RecordingClock clock_of_recording(const Json& about);

}  // namespace pace::pacectl
