// Checks of job options: as a whole, and against those of the job that a worker wants to join.
#pragma once

#include <string>

#include "service/controller/core/types.h"

namespace pace::controller {

// The options that are asked for, with defaults for all others; or a sentence that names an option, its value and what
// to do.
base::Result<JobOptions> check(const AskedOptions& asked);

// The (checked) options of an auto job, while its groups form by this policy, in this size (of full: any).
JobOptions with_shape(JobOptions options, Policy policy, uint32_t group_size);

// "world 8 (the job has 4), average.alpha 0.5 (the job has 0.9)"; empty if they are equal. Both as check()
// returns them.
std::string differences(const JobOptions& asked, const JobOptions& of_job);

}  // namespace pace::controller
