// A job of the controller's status document as text: its shape, who is slow, the last groups, how well models mix. Pure.
#pragma once

#include <string>
#include <string_view>

#include "service/pacectl/document.h"
#include "service/pacectl/status_text.h"

namespace pace::pacectl {

// One line a job.
std::string job_list_text(const Json& status);

// One job with its options. Null if there is none of that name.
const Json* find_job(const Json& status, std::string_view name);
std::string job_text(const Json& status, const Json& job, const StatusLimits& limits);
std::string job_options_text(const Json& job);

}  // namespace pace::pacectl
