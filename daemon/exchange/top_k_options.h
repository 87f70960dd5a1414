// What a job's options of top-k are to daemon/sparse.
#pragma once

#include <cstddef>

#include "daemon/control/messages.h"
#include "daemon/sparse/options.h"

namespace pace::daemon {

// The algorithm, the density, what travels and what is kept; teams, links and views are the caller's.
sparse::Options top_k_options(const control::JobOptions& job);

// The greatest number of teams, not above `wanted`, that the participants can be divided into.
size_t teams_for(size_t participants, size_t wanted, sparse::TeamGather gather);

}  // namespace pace::daemon
