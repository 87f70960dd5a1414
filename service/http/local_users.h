// LocalUsers: the users of this machine who may read on loopback without a token.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace pace::http {

class LocalUsers {
  public:
    // Root, and the user of this process.
    LocalUsers();

    // Also the users with these names or numbers. "*" stands for every user. Looks names up, which
    // blocks, so it is only for the start. Fails with invalid for a name that no user has.
    static base::Result<LocalUsers> from(const std::vector<std::string>& names);

    bool has(uid_t user) const { return everyone_ || users_.contains(user); }
    bool has_everyone() const { return everyone_; }

  private:
    base::Result<> add(const std::string& name);

    std::set<uid_t> users_;
    bool everyone_ = false;
};

}  // namespace pace::http
