#include "tests/simulated_gpu/driver/state/settings.h"

#include "tests/simulated_gpu/driver/state/environment.h"

namespace pace::simulated_gpu {

namespace {

Settings read_settings() {
    Settings settings;
    unsigned no_virtual_memory = 0;
    unsigned no_words = 0;
    unsigned dead_events = 0;
    unsigned instances = 0;
    uint32_t delay_us = 0;
    settings.valid =
        read_variable("PACE_SIMULATED_GPUS", settings.devices) &&
        read_variable("PACE_SIMULATED_GPU_FIRST", settings.first) &&
        read_variable("PACE_SIMULATED_GPU_BYTES", settings.bytes) &&
        read_variable("PACE_SIMULATED_GPU_NO_VMM", no_virtual_memory) &&
        read_variable("PACE_SIMULATED_GPU_NO_WORDS", no_words) &&
        read_variable("PACE_SIMULATED_GPU_DEAD_EVENTS", dead_events) &&
        read_variable("PACE_SIMULATED_GPU_COMPUTE_MODE", settings.compute_mode) &&
        read_variable("PACE_SIMULATED_GPU_MPS", settings.mps) &&
        read_variable("PACE_SIMULATED_GPU_INSTANCES", instances) &&
        read_variable("PACE_SIMULATED_GPU_CONNECTIONS", settings.connections) &&
        read_variable("PACE_SIMULATED_GPU_DELAY_US", delay_us) &&
        read_numbers(variable("PACE_SIMULATED_GPU_FAIL"), kSymbols, settings.failing_calls) &&
        read_numbers(variable("PACE_SIMULATED_GPU_STICKY"), kSymbols, settings.sticky_calls) &&
        read_numbers(variable("PACE_SIMULATED_GPU_FAIL_UNTIL"), kSymbols, settings.failing_until) &&
        read_numbers(variable("PACE_SIMULATED_GPU_SLOW"), kSymbols, settings.slow_us) &&
        settings.devices >= 0 && settings.first >= 0;
    settings.virtual_memory = no_virtual_memory == 0;
    settings.stream_words = no_words == 0;
    settings.dead_events = dead_events != 0;
    settings.instances = instances != 0;
    settings.delay = std::chrono::microseconds(delay_us);
    return settings;
}

}  // namespace

const Settings& settings() {
    // The settings are never destroyed, because the threads of streams may outlive the end of main.
    static const Settings& read = *new Settings(read_settings());
    return read;
}

}  // namespace pace::simulated_gpu
