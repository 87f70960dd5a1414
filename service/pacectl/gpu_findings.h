// What doctor says of GPUs: those that the daemon finds, or why it finds none, and what moves their memory.
#pragma once

#include <vector>

#include "service/pacectl/facts.h"
#include "service/pacectl/findings.h"

namespace pace::pacectl {

// The daemon has told of itself.
void judge_gpus(const Facts& facts, std::vector<Finding>& ret_findings);

}  // namespace pace::pacectl
