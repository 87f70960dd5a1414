// Collective options: checks the options of the collective family that must fit each other: the
// quorum, and which part of the gradients is sent.
#pragma once

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// Refuses options that make no sense together. The error names the option, its value and what to
// do. `options` is as protocol::read_options() returns it.
base::Result<> check_collective(const JobOptions& options);

}  // namespace pace::controller
