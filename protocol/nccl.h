// The NCCL that a node could use among GPUs, as nodes tell each other of it: the number that ncclGetVersion gives.
#pragma once

#include <cstdint>
#include <string>

namespace pace::protocol {

// 0: the node has no GPU, or no NCCL that it could use. The greatest is far beyond any that there is (2.28.9 is 22809).
inline constexpr uint32_t kNcclMax = 999'999;

// "2.28.9". Up to 2.8 NCCL gave a minor version one digit less. Empty of 0.
inline std::string nccl_text(uint32_t number) {
    if (number == 0) return {};
    const uint32_t major_unit = number < 10'000 ? 1000 : 10'000;
    return std::to_string(number / major_unit) + "." + std::to_string(number % major_unit / 100) +
           "." + std::to_string(number % 100);
}

}  // namespace pace::protocol
