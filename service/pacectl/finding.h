// Finding: one thing that doctor has looked at: whether it is right, and what to do if not. Pure.
#pragma once

#include <string>
#include <vector>

#include "service/pacectl/document.h"

namespace pace::pacectl {

enum class Verdict { ok, warn, fail };

struct Finding {
    Verdict verdict = Verdict::ok;
    std::string subject;  // "socket"
    std::string what;     // what was seen
    std::string advice;   // what to do; empty when all is well
};

using Findings = std::vector<Finding>;

Finding ok(std::string subject, std::string what);
Finding warn(std::string subject, std::string what, std::string advice);
Finding fail(std::string subject, std::string what, std::string advice);

// One line a finding, the advice under it, and a last line that sums up. The same for programs.
std::string findings_text(const Findings& findings);
Json findings_json(const Findings& findings);

bool any_failed(const Findings& findings);

// "a, b and 3 more": the names as far as a line has room.
std::string named(const std::vector<std::string>& names);

}  // namespace pace::pacectl
