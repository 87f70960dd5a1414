// A job of the controller's status document as text: its shape, who is slow, the last groups, how well models mix. Pure.
#pragma once

#include <string>

#include "service/pacectl/document.h"
#include "service/pacectl/status_text.h"

namespace pace::pacectl {

// "partial-reduce of 3, dynamic weights": its policy and what is unusual about it.
std::string shape_of(const Json& job);
// "running", or whom it waits for.
std::string state_of(const Json& job);

// One line a job, and the same for programs.
std::string job_list_text(const Json& status);
Json job_list_json(const Json& status);

// One job, and its options.
std::string job_text(const Json& status, const Json& job, const StatusLimits& limits);
std::string job_options_text(const Json& job);

}  // namespace pace::pacectl
