#include "service/pacectl/facts/key_findings.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pace::pacectl {

namespace {

constexpr const char* kKeys = "keys";
constexpr const char* kOrFix = "; or let `pacectl doctor --fix` do it, as root";

bool is_services(const KeyFacts& keys, const KeyFile& file) {
    return keys.service && keys.service->uid == file.uid;
}

bool group_reads(const KeyFile& file) {
    return (file.mode & 0040U) != 0 && file.gid != 0;
}

// Whether users of the daemon can read the file.
bool is_for_trainers(const KeyFacts& keys, const KeyFile& file) {
    if (!keys.trainers) return false;
    if (group_reads(file) && file.gid == keys.trainers->gid) return true;
    return file.owner_is_trainer && !is_services(keys, file);
}

// Whether the services can read the public keys in the folder.
bool may_enter(const KeyFolder& folder, const KeyOwner& service) {
    if (service.uid == 0) return true;
    if (folder.uid == service.uid) return (folder.mode & 0500U) == 0500U;
    return (folder.mode & 0005U) == 0005U;
}

std::string to_root(const KeyFile& file) {
    return fmt::format("chown root:root {0}; chmod 600 {0}{1}", file.path, kOrFix);
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
    if (is_for_trainers(keys, file))
        return fail(kKeys,
                    fmt::format("{} ({}:{}, mode {:04o}) can be read by a member of the group {}, "
                                "whose members use the daemon and may have no keys",
                                file.path, file.owner, file.group, static_cast<unsigned>(file.mode),
                                keys.trainers->name),
                    to_root(file) + "; then make another key");
    if (file.uid != 0 && !is_services(keys, file))
        return warn(kKeys, fmt::format("{} belongs to {}, who can read it", file.path, file.owner),
                    to_root(file));
    if (group_reads(file))
        return warn(kKeys, fmt::format("{} can be read by the group {}", file.path, file.group),
                    to_root(file));
    return ok(kKeys, file.path);
}

}  // namespace

void judge_keys(const KeyFacts& keys, Findings& ret_findings) {
    constexpr size_t kToldApart = 8;
    if (keys.folder.secrets.empty()) return;
    if (keys.service && !may_enter(keys.folder, *keys.service))
        ret_findings.push_back(fail(
            kKeys,
            fmt::format("{} has mode {:04o}: {} does not get into it, and reads public keys "
                        "there",
                        keys.folder.path, static_cast<unsigned>(keys.folder.mode),
                        keys.service->user),
            fmt::format("chmod 755 {}; nobody reads the secret keys by that", keys.folder.path)));
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
            ok(kKeys, fmt::format("{} secret {} in {}, which nobody else can read", well,
                                  well == 1 ? "key" : "keys", keys.folder.path)));
}

std::vector<KeyFile> keys_to_fix(const KeyFacts& keys) {
    std::vector<KeyFile> wrong;
    std::copy_if(keys.folder.secrets.begin(), keys.folder.secrets.end(), std::back_inserter(wrong),
                 [&](const KeyFile& file) { return judge_key(keys, file).verdict != Verdict::ok; });
    return wrong;
}

bool is_for_root(const KeyFacts& keys, const KeyFile& file) {
    return file.uid == 0 || !is_services(keys, file);
}

}  // namespace pace::pacectl
