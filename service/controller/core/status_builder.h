// Reads a StatusView off the state.
#pragma once

#include "service/controller/core/job.h"
#include "service/controller/core/status.h"

namespace pace::controller {

NodeView view_of(const Node& node, TimePoint now);
JobView view_of(const Job& job, TimePoint now);

}  // namespace pace::controller
