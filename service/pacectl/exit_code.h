// Exit codes of pacectl, which scripts rely on. docs/pacectl.md has them.
#pragma once

#include "base/result.h"

namespace pace::pacectl {

enum ExitCode : int {
    kDone = 0,          // done; the answer is yes
    kNo = 1,            // the answer is no, or it failed for a reason that has no code of its own
    kWrongUse = 2,      // the arguments are wrong
    kNoDaemon = 3,      // the daemon cannot be reached, or speaks another protocol
    kNoController = 4,  // the daemon cannot reach the controller
    kRefused = 5,       // this user may not do it
};

// Of an error as output.h's functions return it.
ExitCode exit_code_of(base::ErrorKind kind);

}  // namespace pace::pacectl
