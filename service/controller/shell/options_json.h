// A job's options as JSON: those that count in such a job, each by its name in pace.h.
#pragma once

#include <nlohmann/json.hpp>

#include "service/controller/core/job_options.h"

namespace pace::controller {

nlohmann::json options_json(const JobOptions& options);

}  // namespace pace::controller
