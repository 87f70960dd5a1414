// HandoverList: what a leaving node says of its residuals before it sends them: for each one, its
// buffers and the number of floats. Always of the same size.
//
//     | debts u64 | (counts u64, elements u64) per debt | zeros |
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace pace::daemon {

inline constexpr size_t kDebtsMax = 16;
inline constexpr size_t kHandoverListBytes = 8 + 16 * kDebtsMax;

struct DebtSize {
    uint64_t counts = 0;
    uint64_t elements = 0;
    bool operator==(const DebtSize&) const = default;
};

// Writes at most kDebtsMax entries.
std::vector<std::byte> write(const std::vector<DebtSize>& debts);
// ErrorKind::corrupt for bytes that write() would not write.
base::Result<std::vector<DebtSize>> read_handover_list(std::span<const std::byte> bytes_untrusted);

}  // namespace pace::daemon
