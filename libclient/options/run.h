// RunIdentity: the execution of the job to which a worker belongs. The identity keeps a rerun from
// being taken for a worker that returns.
#pragma once

#include <functional>
#include <string>

#include <protocol/client_generated.h>

#include "base/result.h"

namespace pace::client {

struct RunIdentity {
    // Empty means that the run has no identity apart from the job's name.
    std::string id;
    protocol::client::Rerun rerun = protocol::client::Rerun::when_all_died;
};

// Returns the value of a variable, or null if the variable is not set, like getenv.
using Environment = std::function<const char*(const char* name)>;

// Returns the identity of the run. The sources are, in this order: `given` (null means not given),
// PACE_RUN_ID, torchrun's variables, Slurm's variables.
// An identity that the user gives names one run, however often its workers die. A launcher starts
// all workers of a run together. With a launcher's identity, a worker that opens while no worker
// lives therefore belongs to another run. With `resume` the worker never belongs to another run.
// Fails with ErrorKind::invalid if an identity that the user gives is empty, longer than a job's
// name may be, or not printable.
base::Result<RunIdentity> run_identity(const char* given, bool resume,
                                       const Environment& environment);

}  // namespace pace::client
