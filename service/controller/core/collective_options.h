// The options of the collective family that must fit each other: the quorum, and what of the gradients travels.
#pragma once

#include "service/controller/core/types.h"

namespace pace::controller {

// Refuses options that make no sense together, with a sentence that names the option, its value and what to do. They are as
// protocol::read_options() returns them.
base::Result<> check_collective(const JobOptions& options);

}  // namespace pace::controller
