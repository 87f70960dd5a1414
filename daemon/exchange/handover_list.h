// HandoverList: what a node that leaves says it owes, before it gives it: of each debt which buffers it is of, and how many floats.
// Always of the same size.
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

// At most kDebtsMax of them.
std::vector<std::byte> write(const std::vector<DebtSize>& debts);
// ErrorKind::corrupt for what write() does not write.
base::Result<std::vector<DebtSize>> read_handover_list(std::span<const std::byte> bytes_untrusted);

}  // namespace pace::daemon
