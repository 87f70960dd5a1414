// A job's options of top-k, as daemon/sparse takes them.
#pragma once

#include <cstddef>

#include "daemon/control/messages.h"
#include "daemon/sparse/wire/options.h"

namespace pace::daemon {

// Sets the algorithm, the density, what travels and what is kept. Teams, links and views are left
// to the caller.
sparse::Options top_k_options(const control::JobOptions& job);

// The greatest number of teams, not above `wanted`, into which the participants can be divided.
size_t teams_for(size_t participants, size_t wanted, sparse::TeamGather gather);

}  // namespace pace::daemon
