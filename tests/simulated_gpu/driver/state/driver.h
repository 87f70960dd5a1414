// The driver's functions under the names that Pace gives them, and the results for which
// base/cuda/cuda_driver.h has no name.
//
// Each function is defined in the file of its noun (devices.cpp, contexts.cpp, …). exports.cpp
// exports the function under the driver's name, behind the checks that every call must pass
// (driver/calls.h).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/cuda/cuda_driver.h"

namespace pace::simulated_gpu {

using namespace base::cuda;  // the driver's own names

inline constexpr CUresult kInvalidValue = 1;
inline constexpr CUresult kNotInitialized = 3;
inline constexpr CUresult kDeinitialized = 4;
inline constexpr CUresult kInvalidDevice = 101;
inline constexpr CUresult kInvalidContext = 201;
inline constexpr CUresult kMapFailed = 205;
inline constexpr CUresult kInvalidHandle = 400;
inline constexpr CUresult kContextIsDestroyed = 709;
inline constexpr CUresult kAlreadyRegistered = 712;
inline constexpr CUresult kNotRegistered = 713;
inline constexpr CUresult kNotPermitted = 800;
inline constexpr CUresult kUnknown = 999;

#define PACE_SIMULATED_DECLARE(name, symbol, parameters) CUresult name parameters;
PACE_CUDA_ALL_FUNCTIONS(PACE_SIMULATED_DECLARE)
#undef PACE_SIMULATED_DECLARE

#define PACE_SIMULATED_NAME(name, symbol, parameters) name,
enum class Call : size_t { PACE_CUDA_ALL_FUNCTIONS(PACE_SIMULATED_NAME) };
#undef PACE_SIMULATED_NAME

#define PACE_SIMULATED_SYMBOL(name, symbol, parameters) std::string_view(symbol),
inline constexpr std::array kSymbols{PACE_CUDA_ALL_FUNCTIONS(PACE_SIMULATED_SYMBOL)};
#undef PACE_SIMULATED_SYMBOL

}  // namespace pace::simulated_gpu
