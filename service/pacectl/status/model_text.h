// Model text: a server job's model as lines of the status: clocks, waits, staleness, checkpoints.
// Pure.
#pragma once

#include <string>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

// The lines for a job; empty without a parameter server.
std::string model_text(const Json& job);

}  // namespace pace::pacectl
