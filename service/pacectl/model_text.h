// A server job's model as lines of the status: clocks, waits, staleness, checkpoints. Pure.
#pragma once

#include <string>

#include "service/pacectl/document.h"

namespace pace::pacectl {

// Of a job; empty without a parameter server.
std::string model_text(const Json& job);

}  // namespace pace::pacectl
