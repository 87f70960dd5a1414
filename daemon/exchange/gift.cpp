#include "daemon/exchange/gift.h"

#include <algorithm>
#include <utility>

#include "daemon/collectives/transfer.h"

namespace pace::daemon {

std::weak_ptr<Transfer> Gift::give(Services& services, Transfer::About about, uint64_t number,
                                   uint32_t check, Scratch memory, size_t bytes) {
    const auto peer = services.peers.peer(about.node);
    if (!peer) return {};  // the taker learns of it from the controller
    collectives::Group group;
    group.exchange = number;
    group.check = check;
    group.nodes = {0, *peer};
    auto gift = std::make_shared<Transfer>(services, std::move(group), std::move(about));
    gift->memory = std::move(memory);
    gift->watch(gift);
    const std::span<const std::byte> span(gift->memory.data(), bytes);
    base::spawn<base::Result<>>(
        collectives::transfer_to(gift->communicator, 1, span, services.options.transfer),
        [gift](const base::Result<>& result) { gift->log_failure(result); });
    return gift;
}

base::Result<std::weak_ptr<Transfer>> Gift::give_copy(Services& services, Transfer::About about,
                                                      uint64_t number, uint32_t check,
                                                      std::span<const std::byte> bytes) {
    Scratch copy;
    PACE_TRY_ASSIGN(memory, copy.reserve(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), memory.begin());
    return give(services, std::move(about), number, check, std::move(copy), bytes.size());
}

}  // namespace pace::daemon
