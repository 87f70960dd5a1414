#include "daemon/members/handover_list.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

static_assert(std::endian::native == std::endian::little, "the list is little-endian");

namespace {

// More than any gradient has. Whether there is room is checked where a residual is taken.
constexpr uint64_t kElementsMax = uint64_t{1} << 32U;
static_assert(sizeof(DebtSize) == 16);

}  // namespace

std::vector<std::byte> write(const std::vector<DebtSize>& debts) {
    std::vector<std::byte> bytes(kHandoverListBytes);
    const uint64_t count = std::min(debts.size(), kDebtsMax);
    std::memcpy(bytes.data(), &count, sizeof(count));
    if (count != 0) std::memcpy(bytes.data() + sizeof(count), debts.data(), 16 * count);
    return bytes;
}

Result<std::vector<DebtSize>> read_handover_list(std::span<const std::byte> bytes_untrusted) {
    const auto corrupt = [] {
        return base::make_error(ErrorKind::corrupt, "a node's list of what it owes does not parse");
    };
    if (bytes_untrusted.size() != kHandoverListBytes) return corrupt();
    uint64_t count = 0;
    std::memcpy(&count, bytes_untrusted.data(), sizeof(count));
    if (count > kDebtsMax) return corrupt();
    std::vector<DebtSize> debts(count);
    if (count != 0) std::memcpy(debts.data(), bytes_untrusted.data() + sizeof(count), 16 * count);
    for (const DebtSize& debt : debts)
        if (debt.elements > kElementsMax) return corrupt();
    const auto rest = bytes_untrusted.subspan(sizeof(count) + 16 * count);
    if (std::any_of(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0}; }))
        return corrupt();
    return debts;
}

}  // namespace pace::daemon
