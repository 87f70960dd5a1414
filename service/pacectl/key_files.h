// Key files on this machine: who owns them, who may read them, and giving them to whom they are for.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pace::pacectl {

// Whom files are for.
struct KeyOwner {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string user;
    std::string group;
    bool group_reads = false;  // the secret key
};

// The user that the services run as, if this machine has one: `pace`.
std::optional<KeyOwner> service_user();
// By name; the group is the user's own if `group` is empty. Fails with invalid if there is none of that name.
base::Result<KeyOwner> find_owner(const std::string& user, const std::string& group);

struct KeyFile {
    std::string path;
    uid_t uid = 0;
    gid_t gid = 0;
    mode_t mode = 0;
};

struct KeyFolder {
    std::string path;
    bool is_readable = false;
    mode_t mode = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<KeyFile> secrets;  // the *.secret files in it, by name
};
KeyFolder look_at_keys(const std::string& folder);

// Everybody, or more than its group's readers, may use it: the programs refuse such a key.
bool is_open_to_others(const KeyFile& file);
bool may_read(const KeyFile& file, const KeyOwner& owner);

// Gives a key file that this process owns, or as root any, to the owner, secret ones for nobody else. What is no plain file
// with one name is refused: who can write to the folder could have put it there.
base::Result<> give_key_file(const std::string& path, const std::optional<KeyOwner>& owner,
                             mode_t mode);

}  // namespace pace::pacectl
