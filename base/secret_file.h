// Secret file: opens a file with a secret that a setting names. A service need not be able to read
// such a file: systemd reads it as root (LoadCredential=, systemd.exec(5)) and puts a copy into a
// folder that only the service enters, $CREDENTIALS_DIRECTORY.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::base {

// Opens the file for reading; `what` names it in errors. If this process may not read the file, or
// there is no such file, the credential with the file's name takes its place. So one configuration
// is right with systemd and without it. A credential of an empty line counts as none: the units
// have it for files that a site does not use.
//
// Errors: denied if others could read or change the file, or if this process may not read it;
// invalid if it is no regular file; otherwise the system's. Never waits for a writer of a pipe.
Result<UniqueFd> open_secret_file(std::string_view what, const std::string& path);

}  // namespace pace::base
