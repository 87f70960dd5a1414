#include "bench/pace/job.h"

namespace pace::bench {

std::optional<pace_job_options> job_of(const Options& options) {
    pace_job_options job = PACE_JOB_OPTIONS_INIT;
    job.name = options.job.c_str();
    job.rank = options.rank;
    job.world = options.world;
    job.policy = PACE_POLICY_ALL_REDUCE;
    if (options.algorithm == "reduce") return job;
    if (options.algorithm != "average") return std::nullopt;
    job.policy = PACE_POLICY_PARTIAL_REDUCE;
    // All workers, and no group that closes without one whom the system has held up.
    job.group_size = options.world;
    job.group_wait_ms = 60'000;
    return job;
}

}  // namespace pace::bench
