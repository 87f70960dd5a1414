// job_options: what a worker's command line says about its job, in the words of pace.h.
#pragma once

#include <pace.h>

#include "options.h"

namespace demo {

// The name points into `options`.
pace_job_options job_options_of(const Options& options);

}  // namespace demo
