// What doctor makes of this node's network: the controller's port, and packets' sizes. Pure.
#pragma once

#include "service/pacectl/facts.h"
#include "service/pacectl/finding.h"

namespace pace::pacectl {

void judge_network(const Facts& facts, Findings& ret_findings);

}  // namespace pace::pacectl
