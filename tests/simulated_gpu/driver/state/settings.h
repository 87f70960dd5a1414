// Settings: the settings of the simulated GPUs from the environment. They are read once, at the
// first call of the driver.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tests/simulated_gpu/driver/state/driver.h"

namespace pace::simulated_gpu {

struct Settings {
    // If a value cannot be read, cuInit fails. So a test with a mistake in a value fails, too.
    bool valid = true;
    int devices = 1;                  // PACE_SIMULATED_GPUS
    int first = 0;                    // PACE_SIMULATED_GPU_FIRST: the machine's number of ordinal 0
    size_t bytes = size_t{1} << 30U;  // PACE_SIMULATED_GPU_BYTES, of each device
    // PACE_SIMULATED_GPU_NO_VMM=1 turns virtual memory off.
    bool virtual_memory = true;
    // PACE_SIMULATED_GPU_NO_WORDS=1: streams neither write words of the host's memory nor wait for
    // any.
    bool stream_words = true;
    // PACE_SIMULATED_GPU_DEAD_EVENTS=1: a wait for the event of a dead process never ends.
    bool dead_events = false;
    int compute_mode = 0;    // PACE_SIMULATED_GPU_COMPUTE_MODE, in the driver's numbers
    int mps = 0;             // PACE_SIMULATED_GPU_MPS: whether contexts are shared by MPS
    bool instances = false;  // PACE_SIMULATED_GPU_INSTANCES=1: the devices are parts of one GPU
    // PACE_SIMULATED_GPU_CONNECTIONS. 0 means one for each stream.
    unsigned connections = 0;
    std::chrono::microseconds delay{
        0};  // PACE_SIMULATED_GPU_DELAY_US: before each piece of a stream's work
    // PACE_SIMULATED_GPU_FAIL=cuMemCreate:1,cuEventRecord:3 gives the number of the first call that
    // fails. 0 means that no call fails.
    std::array<uint64_t, kSymbols.size()> failing_calls{};
    // PACE_SIMULATED_GPU_FAIL_UNTIL=cuMemCreate:2 gives the number of the last call that fails.
    std::array<uint64_t, kSymbols.size()> failing_until{};
    // PACE_SIMULATED_GPU_STICKY=cuEventRecord:3 gives the number of the call with which the
    // process's contexts fail for good.
    std::array<uint64_t, kSymbols.size()> sticky_calls{};
    // PACE_SIMULATED_GPU_SLOW=cuMemUnmap:300000 gives the microseconds that each call takes longer.
    std::array<uint64_t, kSymbols.size()> slow_us{};
};

const Settings& settings();

}  // namespace pace::simulated_gpu
