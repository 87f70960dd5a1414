// Recording: the "recorder" document, the flight recorder's records as JSON, for `pacectl record`.
//
// Rows are arrays in the order of the document's `columns`, one line each, since there may be
// 32,768.
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
    // Offset of the controller's clock from this node's; none if unknown.
    std::optional<ClockOffset::Reading> controller_clock;
    std::string reason;  // why it was kept; empty: it was requested
    uint64_t now_ns = base::now_ns();
};

std::string recording(const Recorder& recorder, const RecordingFacts& facts);

// Some records of all.
struct RecordingPart {
    uint64_t from = 0;     // the number of the first; records count from 0 since the daemon began
    size_t bytes_max = 0;  // of the document; its head is written even if it is longer
};
// A recording with two members more: `first`, the number of its first row, and `next`, the number
// of the record after its last row. The part is complete if `next` is `written`.
std::string recording_part(const Recorder& recorder, const RecordingFacts& facts,
                           const RecordingPart& part);

// The same in two steps. The call copies two mebibytes. The returned function takes up to a tenth
// of a second and may run in any thread.
std::function<std::string()> begin_recording(const Recorder& recorder, RecordingFacts facts);
std::function<std::string()> begin_recording_part(const Recorder& recorder, RecordingFacts facts,
                                                  RecordingPart part);

}  // namespace pace::daemon
