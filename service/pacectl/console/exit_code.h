// Exit codes: the exit codes of pacectl, which scripts rely on. docs/pacectl.md lists them.
#pragma once

#include "base/result.h"

namespace pace::pacectl {

enum ExitCode : int {
    kDone = 0,          // done; the answer is yes
    kNo = 1,            // the answer is no, or a failure without its own code
    kWrongUse = 2,      // the arguments are wrong
    kNoDaemon = 3,      // the daemon cannot be reached, or speaks another protocol
    kNoController = 4,  // the daemon cannot reach the controller
    kRefused = 5,       // this user is not permitted
};

// The code for an error from a function of output.h.
ExitCode exit_code_of(base::ErrorKind kind);

}  // namespace pace::pacectl
