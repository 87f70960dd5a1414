#include "daemon/exchange/gift.h"

#include <algorithm>
#include <utility>

#include "daemon/collectives/transfer.h"

namespace pace::daemon {

std::weak_ptr<Gift> Gift::give(Services& services, uint64_t number, uint32_t check, NodeId node,
                               Scratch memory, size_t bytes) {
    const auto peer = services.peers.peer(node);
    if (!peer) return {};  // the taker learns of it from the controller
    collectives::Group group;
    group.exchange = number;
    group.check = check;
    group.nodes = {0, *peer};
    std::shared_ptr<Gift> gift(new Gift(services, std::move(group), std::move(memory)));
    const std::span<const std::byte> span(gift->memory_.data(), bytes);
    base::spawn<base::Result<>>(
        collectives::transfer_to(gift->communicator_, 1, span, services.options.transfer),
        [gift](const base::Result<>&) {});
    return gift;
}

base::Result<std::weak_ptr<Gift>> Gift::give_copy(Services& services, uint64_t number,
                                                  uint32_t check, NodeId node,
                                                  std::span<const std::byte> bytes) {
    Scratch copy;
    PACE_TRY_ASSIGN(memory, copy.reserve(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), memory.begin());
    return give(services, number, check, node, std::move(copy), bytes.size());
}

}  // namespace pace::daemon
