// What doctor makes of this machine's key files. Pure.
#pragma once

#include "service/pacectl/finding.h"
#include "service/pacectl/key_files.h"

namespace pace::pacectl {

struct KeyFacts {
    KeyFolder folder;
    std::optional<KeyOwner>
        service;  // whom the daemon runs as; without one, the services' user if there is one
};

void judge_keys(const KeyFacts& keys, Findings& ret_findings);

// The files that doctor --fix gives to the service: what it cannot read, and what others can.
std::vector<KeyFile> keys_to_fix(const KeyFacts& keys);

}  // namespace pace::pacectl
