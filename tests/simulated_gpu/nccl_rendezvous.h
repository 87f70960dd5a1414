// Where the ranks of a simulated communicator meet, and their shares too: an abstract socket of the process that made the unique id.
//
// A thread of that process serves all that it made, until the process ends; for the ranks that is as if one of them had died.
// Nothing stays in any file system.
#pragma once

#include "base/unique_fd.h"
#include "daemon/device/nccl_library.h"

namespace pace::simulated_gpu {

// At the first call of NCCL: what users of NCCL do at the end of the process then comes before the end of that thread.
void prepare_rendezvous();

// False: no socket can be had.
bool open_rendezvous(device::ncclUniqueId& ret_id);

// Invalid: its process has ended, or its communicator has.
base::UniqueFd connect_to_rendezvous(const device::ncclUniqueId& id);

}  // namespace pace::simulated_gpu
