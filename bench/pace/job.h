// job.h: the job that --algorithm asks for.
//
//     reduce    pace_reduce, the sum over all members
//     average   pace_average by partial reduce with groups of all workers
#pragma once

#include <optional>

#include "bench/common/options.h"
#include "pace.h"

namespace pace::bench {

// Nothing if the word is none of these. `options` must outlive the result, which points into it.
std::optional<pace_job_options> job_of(const Options& options);

}  // namespace pace::bench
