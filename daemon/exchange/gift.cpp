#include "daemon/exchange/gift.h"

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

}  // namespace pace::daemon
