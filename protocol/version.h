// The protocol version. Both planes carry it in their first message; other versions are refused by
// name.
#pragma once

#include <cstdint>

namespace pace::protocol {

inline constexpr uint32_t kVersion = 7;

}  // namespace pace::protocol
