// RunIdentity: which execution of its job a worker is of, so that a rerun is not taken for a return.
#pragma once

#include <functional>
#include <string>

#include <protocol/client_generated.h>

#include "base/result.h"

namespace pace::client {

struct RunIdentity {
    std::string id;  // empty: the job's name alone says what it is
    protocol::client::Rerun rerun = protocol::client::Rerun::when_all_died;
};

// Null for a name that is not set, as getenv.
using Environment = std::function<const char*(const char* name)>;

// In this order: `given` (null: not), PACE_RUN_ID, torchrun's and Slurm's variables. An identity that the user
// gives names one run however often its workers die; a launcher starts all workers of a run together, so
// that one that opens while none lives is of another. `resume`: it never is.
// ErrorKind::invalid for an identity that is empty, longer than a job's name may be, or not printable.
base::Result<RunIdentity> run_identity(const char* given, bool resume,
                                       const Environment& environment);

}  // namespace pace::client
