// What doctor says of GPUs: those that the daemon finds, or why it finds none, and what moves their memory.
#pragma once

#include <string>

#include "service/pacectl/facts.h"
#include "service/pacectl/finding.h"

namespace pace::pacectl {

// The daemon has told of itself.
void judge_gpus(const Facts& facts, Findings& ret_findings);

// Of the daemon document's "gpus": "NCCL 2.28.9", or that there is none, and why.
std::string nccl_line(const Json& gpus);

}  // namespace pace::pacectl
