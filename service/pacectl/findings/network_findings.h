// Network findings: what doctor concludes on this node's network: the controller's port, and packet
// sizes. Pure.
#pragma once

#include "service/pacectl/facts/facts.h"
#include "service/pacectl/facts/finding.h"

namespace pace::pacectl {

void judge_network(const Facts& facts, Findings& ret_findings);

}  // namespace pace::pacectl
