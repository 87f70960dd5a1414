// Wait: what a request that has lasted for long waits for, in words: for the log, for the daemon's
// document, and for its trainer.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/control/ids.h"
#include "protocol/types.h"

namespace pace::daemon {

inline constexpr const char* kNoController = "the controller, which does not answer";

struct Wait {
    control::Rank rank = 0;
    uint64_t request = 0;  // its trainer's number
    protocol::Verb verb = protocol::Verb::barrier;
    std::string what;  // "worker 3 on node b, which has not called"
    uint64_t waited_ns = 0;
};

}  // namespace pace::daemon
