// Key files: the key files on this machine: their owners, their readers, and handing them to the
// user who needs them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pace::pacectl {

// The user for whom files are meant.
struct KeyOwner {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string user;
    std::string group;
    bool group_reads = false;  // the secret key
};

// The user that the daemon's unit names, `paced`, if this machine has one.
std::optional<KeyOwner> service_user();
// Finds an owner by name; an empty `group` means the user's own. Fails with invalid if a name is
// unknown.
base::Result<KeyOwner> find_owner(const std::string& user, const std::string& group);

// The group whose members may use the daemon.
struct TrainersGroup {
    gid_t gid = 0;
    std::string name;
};
// The group that the daemon's unit names, `pace`, if this machine has one.
std::optional<TrainersGroup> service_group();

struct KeyFile {
    std::string path;
    uid_t uid = 0;
    gid_t gid = 0;
    mode_t mode = 0;
    std::string owner;
    std::string group;
    bool owner_is_trainer = false;  // the owner is a member of the trainers' group
};

struct KeyFolder {
    std::string path;
    bool is_readable = false;
    mode_t mode = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<KeyFile> secrets;  // the folder's *.secret files, by name
};
KeyFolder look_at_keys(const std::string& folder, const std::optional<TrainersGroup>& trainers);

// Whether everyone may use the file, or its group may do more than read: the programs refuse such a
// key.
bool is_open_to_others(const KeyFile& file);

// Gives a key file to the owner, and makes secret ones inaccessible to others. The file must belong
// to this process's user, unless this is root. Refuses anything but a plain file with one name,
// since anyone who can write to the folder could have placed it there.
base::Result<> give_key_file(const std::string& path, const std::optional<KeyOwner>& owner,
                             mode_t mode);

}  // namespace pace::pacectl
