// What doctor makes of the controller's status document: of the nodes beside each other. Pure.
#pragma once

#include "service/pacectl/facts.h"
#include "service/pacectl/finding.h"

namespace pace::pacectl {

void judge_cluster(const Facts& facts, Findings& ret_findings);

}  // namespace pace::pacectl
