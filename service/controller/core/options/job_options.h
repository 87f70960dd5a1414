// Job options: checks them as a whole, and against the options of the job that a worker wants to
// join.
#pragma once

#include <string>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// The given options, with defaults for all others. The error names the option, its value and what
// to do.
base::Result<JobOptions> check(const AskedOptions& asked);

// The (checked) options of an auto job while its groups form by this policy, in this size (any size
// for full).
JobOptions with_shape(JobOptions options, Policy policy, uint32_t group_size);

// The differences, as in "world 8 (the job has 4), average.alpha 0.5 (the job has 0.9)"; empty if
// there are none. Both are as check() returns them.
std::string differences(const JobOptions& asked, const JobOptions& of_job);

}  // namespace pace::controller
