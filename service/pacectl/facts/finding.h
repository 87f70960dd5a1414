// Finding: one thing that doctor has checked: whether it is right, and advice if not. Pure.
#pragma once

#include <string>
#include <vector>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

enum class Verdict { ok, warn, fail };

struct Finding {
    Verdict verdict = Verdict::ok;
    std::string subject;  // "socket"
    std::string what;     // what was observed
    std::string advice;   // what to do; empty if all is well
};

using Findings = std::vector<Finding>;

Finding ok(std::string subject, std::string what);
Finding warn(std::string subject, std::string what, std::string advice);
Finding fail(std::string subject, std::string what, std::string advice);

// One line per finding with advice beneath, and a summary line. findings_json has the same for
// programs.
std::string findings_text(const Findings& findings);
Json findings_json(const Findings& findings);

bool any_failed(const Findings& findings);

// "a, b and 3 more": as many names as fit on a line.
std::string named(const std::vector<std::string>& names);

}  // namespace pace::pacectl
