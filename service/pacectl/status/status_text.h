// Status text: the controller's status document as text: the controller, nodes, links and jobs
// (job_text.h). Pure.
#pragma once

#include <cstddef>
#include <string>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

struct StatusLimits {
    size_t nodes = SIZE_MAX;
    size_t workers = SIZE_MAX;  // per job; the slowest if not all are shown
    size_t groups = 8;          // per job, the latest
    size_t links = 16;          // measured; the slowest if not all are shown
};

std::string status_text(const Json& status, const StatusLimits& limits);

}  // namespace pace::pacectl
