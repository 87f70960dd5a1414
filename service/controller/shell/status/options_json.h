// Job options as JSON: the options that apply to the job, by their names in pace.h.
#pragma once

#include <nlohmann/json.hpp>

#include "service/controller/core/options/job_options.h"

namespace pace::controller {

nlohmann::json options_json(const JobOptions& options);

}  // namespace pace::controller
