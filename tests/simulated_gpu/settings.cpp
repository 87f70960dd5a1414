#include "tests/simulated_gpu/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace pace::simulated_gpu {

namespace {

template <typename Number>
bool read_number(std::string_view text, Number& ret_number) {
    const char* const end = text.data() + text.size();
    const auto [stopped, failed] = std::from_chars(text.data(), end, ret_number);
    return failed == std::errc() && stopped == end;
}

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

template <typename Number>
bool read_variable(const char* name, Number& ret_number) {
    const std::string_view text = variable(name);
    return text.empty() || read_number(text, ret_number);
}

// "cuMemCreate:1,cuEventRecord:3"
bool read_failing(std::string_view text, Settings& settings) {
    while (!text.empty()) {
        const std::string_view entry = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), entry.size() + 1));
        const size_t colon = std::min(entry.find(':'), entry.size());
        const auto symbol = std::find(kSymbols.begin(), kSymbols.end(), entry.substr(0, colon));
        uint64_t call = 0;
        if (symbol == kSymbols.end() || colon == entry.size() ||
            !read_number(entry.substr(colon + 1), call) || call == 0)
            return false;
        settings.failing_calls[static_cast<size_t>(symbol - kSymbols.begin())] = call;
    }
    return true;
}

Settings read_settings() {
    Settings settings;
    unsigned no_virtual_memory = 0;
    uint32_t delay_us = 0;
    settings.valid = read_variable("PACE_SIMULATED_GPUS", settings.devices) &&
                     read_variable("PACE_SIMULATED_GPU_FIRST", settings.first) &&
                     read_variable("PACE_SIMULATED_GPU_BYTES", settings.bytes) &&
                     read_variable("PACE_SIMULATED_GPU_NO_VMM", no_virtual_memory) &&
                     read_variable("PACE_SIMULATED_GPU_DELAY_US", delay_us) &&
                     read_failing(variable("PACE_SIMULATED_GPU_FAIL"), settings) &&
                     settings.devices >= 0 && settings.first >= 0;
    settings.virtual_memory = no_virtual_memory == 0;
    settings.delay = std::chrono::microseconds(delay_us);
    return settings;
}

}  // namespace

const Settings& settings() {
    // Never destroyed: the threads of streams may outlive the end of main.
    static const Settings& read = *new Settings(read_settings());
    return read;
}

}  // namespace pace::simulated_gpu
