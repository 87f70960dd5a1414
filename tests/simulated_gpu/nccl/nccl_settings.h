// The settings of the simulated NCCL from the environment. They are read once, at the first call of
// NCCL.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/device/nccl/nccl_library.h"

namespace pace::simulated_gpu {

using namespace device;  // for NCCL's own names

#define PACE_SIMULATED_NCCL_NAME(name, symbol, parameters) name,
enum class NcclCall : size_t { PACE_NCCL_FUNCTIONS(PACE_SIMULATED_NCCL_NAME) };
#undef PACE_SIMULATED_NCCL_NAME

#define PACE_SIMULATED_NCCL_SYMBOL(name, symbol, parameters) std::string_view(symbol),
inline constexpr std::array kNcclSymbols{PACE_NCCL_FUNCTIONS(PACE_SIMULATED_NCCL_SYMBOL)};
#undef PACE_SIMULATED_NCCL_SYMBOL

struct NcclSettings {
    // If a value cannot be read, every call fails. So a test with a mistake in a value fails, too.
    bool valid = true;
    int version = 22105;                                        // PACE_SIMULATED_NCCL_VERSION
    std::chrono::microseconds delay{0};                         // PACE_SIMULATED_NCCL_DELAY_US
    std::array<uint64_t, kNcclSymbols.size()> failing_calls{};  // PACE_SIMULATED_NCCL_FAIL
    // PACE_SIMULATED_NCCL_TOGETHER=1: a call that ends a rank waits until all ranks of the process
    // that have the same id are being ended.
    bool together = false;
    std::array<uint64_t, kNcclSymbols.size()> slow_us{};  // PACE_SIMULATED_NCCL_SLOW
};

const NcclSettings& nccl_settings();

}  // namespace pace::simulated_gpu
