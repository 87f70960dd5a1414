// Reads a job's options from a status document, as far as predictions know them.
#pragma once

#include "base/result.h"
#include "service/controller/vocabulary/options.h"
#include "service/simulator/measured/status_fields.h"

namespace pace::simulator {

base::Result<controller::JobOptions> job_options_of(const StatusFields& options);

}  // namespace pace::simulator
