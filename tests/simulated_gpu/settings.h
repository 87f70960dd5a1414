// Settings: what the environment says of the simulated GPUs. Read once, at the first call of the driver.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tests/simulated_gpu/calls.h"

namespace pace::simulated_gpu {

struct Settings {
    // A value that cannot be read: cuInit fails, so that a test with a slip in it does too.
    bool valid = true;
    int devices = 1;                  // PACE_SIMULATED_GPUS
    int first = 0;                    // PACE_SIMULATED_GPU_FIRST: the machine's number of ordinal 0
    size_t bytes = size_t{1} << 30U;  // PACE_SIMULATED_GPU_BYTES, of each device
    bool virtual_memory = true;       // PACE_SIMULATED_GPU_NO_VMM=1: none
    unsigned connections = 0;         // PACE_SIMULATED_GPU_CONNECTIONS; 0: one for each stream
    std::chrono::microseconds delay{
        0};  // PACE_SIMULATED_GPU_DELAY_US: before each piece of a stream's work
    // PACE_SIMULATED_GPU_FAIL=cuMemCreate:1,cuEventRecord:3: the number of the first call that fails; 0: none does.
    std::array<uint64_t, kSymbols.size()> failing_calls{};
};

const Settings& settings();

}  // namespace pace::simulated_gpu
