// The place where the ranks of a simulated communicator meet and exchange their shares: an abstract
// socket of the process that made the unique id.
//
// A thread of that process serves all rendezvous of the process until the process ends. For the
// ranks, this end looks like the death of a rank. Nothing stays in any file system.
#pragma once

#include "base/unique_fd.h"
#include "daemon/device/nccl/nccl_library.h"

namespace pace::simulated_gpu {

// Must be called at the first call of NCCL. So code of NCCL's users at the end of the process runs
// before the end of that thread.
void prepare_rendezvous();

// Returns false if no socket can be created.
bool open_rendezvous(device::ncclUniqueId& ret_id);

// Returns an invalid descriptor if the process of the rendezvous has ended, or its communicator
// has.
base::UniqueFd connect_to_rendezvous(const device::ncclUniqueId& id);

}  // namespace pace::simulated_gpu
