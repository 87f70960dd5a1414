// The size of a job's model, from a status document.
#pragma once

#include <string>

#include "base/result.h"
#include "service/simulator/measured/measured_job.h"
#include "service/simulator/measured/measured_links.h"

namespace pace::simulator {

struct MeasuredSize {
    uint64_t bytes = 0;
    std::string note{};
    // Derived from the time of exchanges, which therefore tells nothing else.
    bool is_by_time = false;
};

// A parameter server's model is as large as its elements. The nodes of a group that spans n nodes
// send 2 (n - 1) models. This holds for the direct exchange and for relays between zones of one
// size. Otherwise the time of exchanges gives the size (measured_exchange.h). Returns an error if
// none of these was measured.
base::Result<MeasuredSize> size_of(const MeasuredJob& job, const MeasuredLinks& links);

}  // namespace pace::simulator
