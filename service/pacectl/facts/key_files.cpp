#include "service/pacectl/facts/key_files.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/unique_fd.h"

namespace pace::pacectl {

using base::ErrorKind;
using base::make_errno_error;
using base::make_error;
using base::Result;

namespace {

constexpr const char* kServiceUser = "paced";
constexpr const char* kServiceGroup = "pace";
constexpr std::string_view kSecretSuffix = ".secret";
constexpr size_t kFilesMax = 4096;

std::string group_of(gid_t gid) {
    const group* entry = getgrgid(gid);
    return entry == nullptr ? fmt::format("{}", gid) : entry->gr_name;
}

bool is_member(uid_t uid, gid_t gid) {
    constexpr size_t kGroupsMax = 65536;  // NGROUPS_MAX of Linux
    const passwd* entry = getpwuid(uid);
    if (entry == nullptr) return false;
    std::vector<gid_t> groups(kGroupsMax);
    int count = kGroupsMax;
    if (getgrouplist(entry->pw_name, entry->pw_gid, groups.data(), &count) < 0) return true;
    return std::find(groups.begin(), groups.begin() + count, gid) != groups.begin() + count;
}

KeyFile key_file(const std::string& path, const struct stat& status,
                 const std::optional<TrainersGroup>& trainers) {
    const passwd* entry = getpwuid(status.st_uid);
    KeyFile file{path, status.st_uid, status.st_gid, status.st_mode & 07777U, {}, {}, false};
    file.owner = entry == nullptr ? fmt::format("{}", file.uid) : entry->pw_name;
    file.group = group_of(file.gid);
    file.owner_is_trainer = file.uid != 0 && trainers && is_member(file.uid, trainers->gid);
    return file;
}

}  // namespace

std::optional<KeyOwner> service_user() {
    const passwd* entry = getpwnam(kServiceUser);
    if (entry == nullptr) return std::nullopt;
    return KeyOwner{entry->pw_uid, entry->pw_gid, kServiceUser, group_of(entry->pw_gid), false};
}

std::optional<TrainersGroup> service_group() {
    const group* entry = getgrnam(kServiceGroup);
    if (entry == nullptr) return std::nullopt;
    return TrainersGroup{entry->gr_gid, kServiceGroup};
}

Result<KeyOwner> find_owner(const std::string& user, const std::string& group_name) {
    KeyOwner owner{geteuid(), getegid(), {}, {}, false};
    const passwd* entry = user.empty() ? getpwuid(owner.uid) : getpwnam(user.c_str());
    if (entry == nullptr && !user.empty())
        return make_error(ErrorKind::invalid, "there is no user '{}'; name one with --owner", user);
    if (entry != nullptr) owner = {entry->pw_uid, entry->pw_gid, entry->pw_name, {}, false};
    if (!group_name.empty()) {
        const group* named = getgrnam(group_name.c_str());
        if (named == nullptr)
            return make_error(ErrorKind::invalid, "there is no group '{}'; name one with --group",
                              group_name);
        owner.gid = named->gr_gid;
        owner.group_reads = true;
    }
    owner.group = group_of(owner.gid);
    return owner;
}

KeyFolder look_at_keys(const std::string& folder, const std::optional<TrainersGroup>& trainers) {
    KeyFolder found;
    found.path = folder;
    struct stat status {};
    if (stat(folder.c_str(), &status) != 0) return found;
    found.mode = status.st_mode & 07777U;
    found.uid = status.st_uid;
    found.gid = status.st_gid;
    std::error_code error;
    std::filesystem::directory_iterator entries(folder, error);
    found.is_readable = !error;
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
        const std::string path = entries->path();
        if (!path.ends_with(kSecretSuffix) || found.secrets.size() == kFilesMax) continue;
        if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
        found.secrets.push_back(key_file(path, status, trainers));
    }
    std::sort(found.secrets.begin(), found.secrets.end(),
              [](const KeyFile& a, const KeyFile& b) { return a.path < b.path; });
    return found;
}

bool is_open_to_others(const KeyFile& file) {
    return (file.mode & (S_IRWXO | S_IWGRP)) != 0;
}

Result<> give_key_file(const std::string& path, const std::optional<KeyOwner>& owner, mode_t mode) {
    const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd.valid()) return make_errno_error(errno, "open key file " + path);
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return make_errno_error(errno, "look at key file " + path);
    if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
        return make_error(ErrorKind::denied,
                          "{} is no plain file with one name; look who has made it", path);
    // The mode is set first, so that the new owner's file is never open to others.
    if (fchmod(fd.get(), mode) != 0)
        return make_errno_error(errno, "change the mode of key file " + path);
    if (owner && fchown(fd.get(), owner->uid, owner->gid) != 0)
        return make_errno_error(
            errno, fmt::format("give key file {} to {}:{}", path, owner->user, owner->group));
    return {};
}

}  // namespace pace::pacectl
