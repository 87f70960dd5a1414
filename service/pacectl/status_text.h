// The controller's status document as text: nodes, jobs, who is slow, the last groups, how well
// models mix. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "service/pacectl/document.h"

namespace pace::pacectl {

struct StatusLimits {
    size_t nodes = SIZE_MAX;
    size_t workers = SIZE_MAX;  // of each job; the slowest first when not all are shown
    size_t groups = 8;          // of each job, the latest
    size_t links = 16;          // measured ones, the slowest first when not all are shown
};

std::string status_text(const Json& status, const StatusLimits& limits);

// One line a job.
std::string job_list_text(const Json& status);

// One job with its options. Null if there is none of that name.
const Json* find_job(const Json& status, std::string_view name);
std::string job_text(const Json& status, const Json& job, const StatusLimits& limits);
std::string job_options_text(const Json& job);

}  // namespace pace::pacectl
