// Status document: the controller's state as JSON, which StatusReply carries, and which `pacectl
// status` and the status page show. Pure. Lists are bounded, so that a reply fits a message
// whatever the cluster's size. A count beside each list tells how many entries were left out.
#pragma once

#include <string>
#include <vector>

#include "service/controller/core/status/status.h"
#include "service/controller/shell/dispatch/dispatcher.h"
#include "service/controller/shell/journal/journal.h"
#include "service/controller/shell/status/event_ring.h"

namespace pace::controller {

// The shell's part of the status, beside the core's view.
struct ShellView {
    std::vector<std::string> endpoints;
    bool curve = false;
    uint32_t heartbeat_ms = 0;
    uint64_t seed = 0;
    Dispatcher::Counters counters;
    std::string journal_path;  // empty: no journal
    Journal::Status journal;
    const EventRing* events = nullptr;
    int64_t unix_ms = 0;  // the controller's clock, since 1970
};

std::string status_json(const StatusView& view, const ShellView& shell, TimePoint now);

}  // namespace pace::controller
