// Where the ranks of a simulated communicator meet, and their shares too: a thread of the process that made the unique id.
//
// It serves an abstract socket, of which nothing stays in any file system. With that process it goes, and for the ranks that
// is as if one of them had died.
#pragma once

#include "base/unique_fd.h"
#include "daemon/device/nccl_library.h"

namespace pace::simulated_gpu {

// False: no socket or no thread can be had.
bool open_rendezvous(device::ncclUniqueId& ret_id);

// Invalid: its process has ended, or its communicator has.
base::UniqueFd connect_to_rendezvous(const device::ncclUniqueId& id);

}  // namespace pace::simulated_gpu
