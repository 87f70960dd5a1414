// barrier: ends at every node only after all nodes have begun it. This is the dissemination barrier
// of Hensgen, Finkel and Manber (1988). In round k each node sends an empty message to the node 2^k
// after it. The barrier takes ⌈log2 N⌉ rounds for any N.
#pragma once

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"

namespace pace::collectives {

base::Task<base::Result<>> barrier(Communicator& communicator);

}  // namespace pace::collectives
