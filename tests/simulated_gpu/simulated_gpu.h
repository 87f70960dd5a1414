// The simulated GPU, for the tests of other folders. The functions give a process the simulated
// driver and NCCL, and tell where its plug-ins are.
#pragma once

#include <string>

namespace pace::simulated_gpu {

// From now on this process's base::cuda::CudaDriver is the simulated one. Must be called before the
// first use of the driver, and before threads are started. The settings (README.md) are read from
// the environment at the driver's first call. Ends the process if the library is missing.
void use_simulated_gpu();

// Does the same for NCCL. A process has NCCL only if it calls this. Needs the simulated driver.
void use_simulated_nccl();

// Returns "LD_LIBRARY_PATH=…", for the environment of a child. The child then finds the simulated
// driver by itself, and NCCL or not.
enum class Nccl { absent, present };
std::string environment_entry(Nccl nccl = Nccl::absent);
// Sets this variable in this process, for all children.
void set_environment(Nccl nccl = Nccl::absent);

// Folders that each have a pace-device-cuda.so.
inline constexpr const char* kPlugins = PACE_SIMULATED_GPU_FOLDER "/plugins";
inline constexpr const char* kRefusing = PACE_SIMULATED_GPU_FOLDER "/broken/refusing";
inline constexpr const char* kOtherVersion = PACE_SIMULATED_GPU_FOLDER "/broken/other_version";
inline constexpr const char* kNewerCuda = PACE_SIMULATED_GPU_FOLDER "/broken/newer_cuda";
inline constexpr const char* kIncomplete = PACE_SIMULATED_GPU_FOLDER "/broken/incomplete";
inline constexpr const char* kWithoutEntry = PACE_SIMULATED_GPU_FOLDER "/broken/without_entry";

}  // namespace pace::simulated_gpu
