// GPU findings: what doctor reports on GPUs: those that the daemon finds, or why it finds none, and
// what moves their memory.
#pragma once

#include <string>

#include "service/pacectl/facts/facts.h"
#include "service/pacectl/facts/finding.h"

namespace pace::pacectl {

// The daemon's document must be present.
void judge_gpus(const Facts& facts, Findings& ret_findings);

// From the daemon document's "gpus": "NCCL 2.28.9", or why there is none.
std::string nccl_line(const Json& gpus);

}  // namespace pace::pacectl
