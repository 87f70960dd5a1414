// findings: what doctor concludes from the facts: what is right or wrong, and what to do. Pure.
#pragma once

#include "service/pacectl/facts/facts.h"
#include "service/pacectl/facts/finding.h"

namespace pace::pacectl {

Findings judge(const Facts& facts);

}  // namespace pace::pacectl
