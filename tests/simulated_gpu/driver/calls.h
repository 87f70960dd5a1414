// Calls: the checks that every call of the driver passes before its function runs.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "tests/simulated_gpu/driver/driver.h"

namespace pace::simulated_gpu {

#define PACE_SIMULATED_NAME(name, symbol, parameters) name,
enum class Call : size_t { PACE_CUDA_FUNCTIONS(PACE_SIMULATED_NAME) };
#undef PACE_SIMULATED_NAME

#define PACE_SIMULATED_SYMBOL(name, symbol, parameters) std::string_view(symbol),
inline constexpr std::array kSymbols{PACE_CUDA_FUNCTIONS(PACE_SIMULATED_SYMBOL)};
#undef PACE_SIMULATED_SYMBOL

// Returns success if the call may go on. Otherwise returns the result that the call must return at
// once. This is the fault that a test has asked for, or the reason why no function of the driver
// can be called here: before cuInit, in the child of a fork, in a host function, or after the end
// of main.
CUresult admit(Call call);

}  // namespace pace::simulated_gpu
