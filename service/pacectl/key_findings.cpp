#include "service/pacectl/key_findings.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pace::pacectl {

namespace {

constexpr const char* kKeys = "keys";
constexpr const char* kOrFix = "; or let `pacectl doctor --fix` do it, as root";

bool is_unreadable(const KeyFacts& keys, const KeyFile& file) {
    return keys.service && !may_read(file, *keys.service);
}

// Whether the service can reach files in the folder.
bool may_enter(const KeyFolder& folder, const KeyOwner& owner) {
    if (owner.uid == 0) return true;
    if (folder.uid == owner.uid) return (folder.mode & 0100U) != 0;
    if (folder.gid == owner.gid) return (folder.mode & 0010U) != 0;
    return (folder.mode & 0001U) != 0;
}

Finding judge_key(const KeyFacts& keys, const KeyFile& file) {
    if (is_open_to_others(file))
        return fail(
            kKeys,
            fmt::format("{} has mode {:04o}: others may read or replace it, and the "
                        "programs refuse it",
                        file.path, static_cast<unsigned>(file.mode)),
            fmt::format("chmod 600 {}{}; if others had access to this machine, make another "
                        "key",
                        file.path, kOrFix));
    if (is_unreadable(keys, file))
        return warn(kKeys,
                    fmt::format("{} cannot be read by {}, whom the service runs as", file.path,
                                keys.service->user),
                    fmt::format("chown {0}:{1} {2}{3}; another node's key does not belong here",
                                keys.service->user, keys.service->group, file.path, kOrFix));
    return ok(kKeys, file.path);
}

}  // namespace

void judge_keys(const KeyFacts& keys, Findings& ret_findings) {
    constexpr size_t kToldApart = 8;
    if (keys.folder.secrets.empty()) return;
    if (keys.service && !may_enter(keys.folder, *keys.service))
        ret_findings.push_back(fail(
            kKeys,
            fmt::format("{} has mode {:04o}: {} does not get into it", keys.folder.path,
                        static_cast<unsigned>(keys.folder.mode), keys.service->user),
            fmt::format("chgrp {0} {1}; chmod 750 {1}", keys.service->group, keys.folder.path)));
    size_t well = 0;
    size_t told = 0;
    for (const KeyFile& file : keys.folder.secrets) {
        Finding finding = judge_key(keys, file);
        if (finding.verdict == Verdict::ok)
            ++well;
        else if (++told <= kToldApart)
            ret_findings.push_back(std::move(finding));
    }
    if (told > kToldApart)
        ret_findings.push_back(warn(kKeys, fmt::format("{} more are like these", told - kToldApart),
                                    "see the advice above"));
    if (well > 0)
        ret_findings.push_back(
            ok(kKeys, fmt::format("{} secret {} in {}, for the service alone", well,
                                  well == 1 ? "key" : "keys", keys.folder.path)));
}

std::vector<KeyFile> keys_to_fix(const KeyFacts& keys) {
    std::vector<KeyFile> wrong;
    std::copy_if(
        keys.folder.secrets.begin(), keys.folder.secrets.end(), std::back_inserter(wrong),
        [&](const KeyFile& file) { return is_open_to_others(file) || is_unreadable(keys, file); });
    return wrong;
}

}  // namespace pace::pacectl
