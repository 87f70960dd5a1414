// Key findings: what doctor concludes on this machine's key files. Pure.
#pragma once

#include "service/pacectl/facts/finding.h"
#include "service/pacectl/facts/key_files.h"

namespace pace::pacectl {

struct KeyFacts {
    KeyFolder folder;
    // The user of the daemon. Without a daemon, the user that its unit names, if there is one.
    std::optional<KeyOwner> service;
    // The group of the daemon's socket. Without a socket, the group that the unit names.
    std::optional<TrainersGroup> trainers;
};

// A secret key is well if root and the daemon's user alone can read it. The units have systemd pass
// root's files.
void judge_keys(const KeyFacts& keys, Findings& ret_findings);

// The files that doctor --fix makes inaccessible to others.
std::vector<KeyFile> keys_to_fix(const KeyFacts& keys);
// Whether it also gives the file to root. The daemon's user keeps its own.
bool is_for_root(const KeyFacts& keys, const KeyFile& file);

}  // namespace pace::pacectl
