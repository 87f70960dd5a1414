// Machine findings: what doctor concludes on this machine: its limits, memory, libraries, clock and
// other daemons. Pure.
#pragma once

#include "service/pacectl/facts/facts.h"
#include "service/pacectl/facts/finding.h"

namespace pace::pacectl {

void judge_machine(const Facts& facts, Findings& ret_findings);

}  // namespace pace::pacectl
