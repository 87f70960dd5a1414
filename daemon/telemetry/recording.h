// The "recorder" document: what the flight recorder holds, as JSON, for `pacectl record`.
//
// Rows are arrays in the order of its `columns`, a line each, since there may be 32,768.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "daemon/control/clock_offset.h"
#include "daemon/recorder/recorder.h"

namespace pace::daemon {

struct RecordingFacts {
    std::string node;
    // How the controller's clock stands to this node's; none: it is not known.
    std::optional<ClockOffset::Reading> controller_clock;
    std::string reason;  // why it was kept; empty: somebody asked
    uint64_t now_ns = base::now_ns();
};

std::string recording(const Recorder& recorder, const RecordingFacts& facts);

// The same in two steps: the first one copies two mebibytes, the second one takes up to a tenth of a second, and may be taken in any
// thread.
std::function<std::string()> begin_recording(const Recorder& recorder, RecordingFacts facts);

}  // namespace pace::daemon
