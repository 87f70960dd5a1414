// Cluster findings: what doctor concludes from the controller's status document, by comparing
// nodes. Pure.
#pragma once

#include "service/pacectl/facts/facts.h"
#include "service/pacectl/facts/finding.h"

namespace pace::pacectl {

void judge_cluster(const Facts& facts, Findings& ret_findings);

}  // namespace pace::pacectl
