// The controller's state as JSON: what StatusReply carries, `pacectl status` prints and the status
// page shows. Pure. Lists are bounded, so that a reply fits a message whatever the cluster's size;
// what was left out is counted beside the list.
#pragma once

#include <string>
#include <vector>

#include "service/controller/core/status.h"
#include "service/controller/shell/dispatcher.h"
#include "service/controller/shell/event_ring.h"
#include "service/controller/shell/journal.h"

namespace pace::controller {

// What the shell adds to the core's view.
struct ShellView {
    std::vector<std::string> endpoints;
    bool curve = false;
    uint32_t heartbeat_ms = 0;
    uint64_t seed = 0;
    Dispatcher::Counters counters;
    std::string journal_path;  // empty: no journal
    Journal::Status journal;
    const EventRing* events = nullptr;
};

std::string status_json(const StatusView& view, const ShellView& shell, TimePoint now);

}  // namespace pace::controller
