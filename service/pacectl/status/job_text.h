// Job text: a job of the controller's status document as text: its shape, slow workers, the last
// groups, and how well models mix. Pure.
#pragma once

#include <string>

#include "service/pacectl/console/document.h"
#include "service/pacectl/status/status_text.h"

namespace pace::pacectl {

// "partial-reduce of 3, dynamic weights": the policy and unusual options.
std::string shape_of(const Json& job);
// "running", or the workers that it waits for.
std::string state_of(const Json& job);

// One line per job. job_list_json has the same for programs.
std::string job_list_text(const Json& status);
Json job_list_json(const Json& status);

// One job in detail, and its options.
std::string job_text(const Json& status, const Json& job, const StatusLimits& limits);
std::string job_options_text(const Json& job);

}  // namespace pace::pacectl
