// What a node says of jobs of which it has something though no worker, and what it is answered.
#pragma once

#include <cstdint>

#include "daemon/control/ids.h"

namespace pace::daemon::control {

// This node has something of a job and no worker in it, or shards of its model. Said until JobEnded or PartEnded answers.
struct JobKept {
    JobId job = 0;
    uint64_t token = 0;
    bool model = false;  // shards of a parameter server
    bool debts = false;  // what top-k has left out, that no view has named an heir of
};

// The job is over: nothing of it is of use any more.
struct JobEnded {
    JobId job = 0;
    uint64_t token = 0;
};

// The job goes on without what this node has of it, but for what its dead workers have left for others of their rank.
struct PartEnded {
    JobId job = 0;
    uint64_t token = 0;
};

}  // namespace pace::daemon::control
