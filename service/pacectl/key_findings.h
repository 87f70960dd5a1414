// Key findings: what doctor concludes on this machine's key files. Pure.
#pragma once

#include "service/pacectl/finding.h"
#include "service/pacectl/key_files.h"

namespace pace::pacectl {

struct KeyFacts {
    KeyFolder folder;
    // The user of the daemon. Without a daemon, the services' user if there is one.
    std::optional<KeyOwner> service;
};

void judge_keys(const KeyFacts& keys, Findings& ret_findings);

// The files that doctor --fix gives to the service: those that the service cannot read, or others
// can.
std::vector<KeyFile> keys_to_fix(const KeyFacts& keys);

}  // namespace pace::pacectl
