// Board: which GPU of which machine a device is, or is an instance of.
//
// A GPU that is divided (MIG) shows each process one instance, under a number of its own. NCCL
// knows the GPU by its place on the PCI bus, and refuses two ranks on one.
#pragma once

#include <optional>

#include "base/cuda/cuda_driver.h"

namespace pace::device {

// Equal for the instances of one GPU, and different for GPUs of different machines, also if these
// are virtual. None if the driver or the kernel does not tell. Any thread.
std::optional<base::cuda::CUuuid> board_of(const base::cuda::CudaDriver& driver,
                                           base::cuda::CUdevice device);

}  // namespace pace::device
