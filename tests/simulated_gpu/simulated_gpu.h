// The simulated GPU, for the tests of other folders: how a process gets its driver and its NCCL, and where its plug-ins are.
#pragma once

#include <string>

namespace pace::simulated_gpu {

// From now on this process's base::cuda::CudaDriver is the simulated one. Before its first use, and before threads; the settings
// (README.md) are the environment's at the driver's first call. Ends the process if the library is not there.
void use_simulated_gpu();

// The same for NCCL, which a process has only if it asks for it. Needs the simulated driver.
void use_simulated_nccl();

// "LD_LIBRARY_PATH=…", for the environment of a child that is to find the simulated driver by itself, and NCCL or not.
enum class Nccl { absent, present };
std::string environment_entry(Nccl nccl = Nccl::absent);
// Sets that in this process, for all children.
void set_environment(Nccl nccl = Nccl::absent);

// Folders with a pace-device-cuda.so each.
inline constexpr const char* kPlugins = PACE_SIMULATED_GPU_FOLDER "/plugins";
inline constexpr const char* kRefusing = PACE_SIMULATED_GPU_FOLDER "/broken/refusing";
inline constexpr const char* kOtherVersion = PACE_SIMULATED_GPU_FOLDER "/broken/other_version";
inline constexpr const char* kIncomplete = PACE_SIMULATED_GPU_FOLDER "/broken/incomplete";
inline constexpr const char* kWithoutEntry = PACE_SIMULATED_GPU_FOLDER "/broken/without_entry";

}  // namespace pace::simulated_gpu
