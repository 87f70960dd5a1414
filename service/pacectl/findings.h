// Findings: what doctor makes of the facts. Each says what is right or wrong, and what to do. Pure.
#pragma once

#include <string>
#include <vector>

#include "service/pacectl/facts.h"

namespace pace::pacectl {

enum class Verdict { ok, warn, fail };

struct Finding {
    Verdict verdict = Verdict::ok;
    std::string subject;  // "socket"
    std::string what;     // what was seen
    std::string advice;   // what to do; empty when all is well
};

std::vector<Finding> judge(const Facts& facts);

// One line a finding, the advice under it, and a last line that sums up.
std::string findings_text(const std::vector<Finding>& findings);

bool any_failed(const std::vector<Finding>& findings);

}  // namespace pace::pacectl
