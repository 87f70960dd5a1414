// barrier: ends at every node only after it has begun at all of them. The dissemination barrier of
// Hensgen, Finkel and Manber (1988): in round k each node tells the one 2^k after it, ⌈log2 N⌉
// rounds for any N, no bytes.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"

namespace pace::collectives {

base::Task<base::Result<>> barrier(Communicator& communicator);

}  // namespace pace::collectives
