// The version of NCCL that a node could use among GPUs. Nodes tell each other the number that
// ncclGetVersion returns.
#pragma once

#include <cstdint>
#include <string>

namespace pace::protocol {

// The greatest number, far beyond any version that exists (2.28.9 is 22809). The number 0 means
// that the node has no GPU or no NCCL that it could use.
inline constexpr uint32_t kNcclMax = 999'999;

// Returns the version as text: "2.28.9". The number 0 becomes an empty text. Up to version 2.8 the
// number has one digit less for the minor version.
inline std::string nccl_text(uint32_t number) {
    if (number == 0) return {};
    const uint32_t major_unit = number < 10'000 ? 1000 : 10'000;
    return std::to_string(number / major_unit) + "." + std::to_string(number % major_unit / 100) +
           "." + std::to_string(number % 100);
}

}  // namespace pace::protocol
