// The size of a job's model, from what a status document tells of it.
#pragma once

#include <string>

#include "base/result.h"
#include "service/simulator/measured_job.h"
#include "service/simulator/measured_links.h"

namespace pace::simulator {

struct MeasuredSize {
    uint64_t bytes = 0;
    std::string note{};
    bool is_by_time =
        false;  // it was taken for what exchanges take, so that these tell nothing else
};

// A parameter server's model is as large as its elements. The nodes of a group that spans n of them send 2 (n - 1) models, by the
// direct exchange, and by relays between zones of one size. Else what an exchange takes tells (measured_exchange.h). An error if nothing
// of this was measured.
base::Result<MeasuredSize> size_of(const MeasuredJob& job, const MeasuredLinks& links);

}  // namespace pace::simulator
