// Captures: streams whose work is recorded into a graph instead of being done. The simulated driver
// throws the work away, and makes no graph.
//
// What matters is how a capture ends early. While a capture is under way that began in the global
// mode, a call that the driver cannot be sure of ends it with an error, whichever thread makes the
// call. A thread whose own mode is relaxed is spared. That is how CUDA documents
// cuThreadExchangeStreamCaptureMode.
#pragma once

#include "tests/simulated_gpu/driver/calls.h"

namespace pace::simulated_gpu {

// Whether the calling thread may not make this call now. Captures under way are then broken.
bool breaks_captures(Call call);

}  // namespace pace::simulated_gpu
