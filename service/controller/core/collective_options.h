// The options of the collective family: who must have called before a round goes on (the quorum),
// and what of the gradients travels (the compression).
#pragma once

#include "service/controller/core/types.h"

namespace pace::controller {

// Refuses the options that make no sense, alone or together, each with a sentence that names the
// option, its value and what to do. They are the caller's, with the policy filled in.
base::Result<> check_collective(const JobOptions& options);

// After check_collective: choices that are not made get their defaults, and so do numbers where
// they mean something. To fill twice changes nothing.
void fill_collective_defaults(JobOptions& options);

}  // namespace pace::controller
