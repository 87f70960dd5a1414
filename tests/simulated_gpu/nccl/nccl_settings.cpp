#include "tests/simulated_gpu/nccl/nccl_settings.h"

#include "tests/simulated_gpu/driver/state/environment.h"

namespace pace::simulated_gpu {

namespace {

NcclSettings read_nccl_settings() {
    NcclSettings settings;
    uint32_t delay_us = 0;
    unsigned together = 0;
    settings.valid =
        read_variable("PACE_SIMULATED_NCCL_VERSION", settings.version) &&
        read_variable("PACE_SIMULATED_NCCL_DELAY_US", delay_us) &&
        read_variable("PACE_SIMULATED_NCCL_TOGETHER", together) &&
        read_numbers(variable("PACE_SIMULATED_NCCL_SLOW"), kNcclSymbols, settings.slow_us) &&
        read_numbers(variable("PACE_SIMULATED_NCCL_FAIL"), kNcclSymbols, settings.failing_calls);
    settings.delay = std::chrono::microseconds(delay_us);
    settings.together = together != 0;
    return settings;
}

}  // namespace

const NcclSettings& nccl_settings() {
    static const NcclSettings read = read_nccl_settings();
    return read;
}

}  // namespace pace::simulated_gpu
