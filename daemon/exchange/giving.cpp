#include "daemon/exchange/giving.h"

#include <algorithm>
#include <utility>

#include "daemon/collectives/messages/transfer.h"

namespace pace::daemon {

namespace {

// Null if the node is not known (any more): the taker learns of that from the controller.
std::shared_ptr<Transfer> prepare(Services& services, Transfer::About about, uint64_t number,
                                  uint32_t check) {
    const auto peer = services.peers.peer(about.node);
    if (!peer) return nullptr;
    collectives::Group group;
    group.exchange = number;
    group.check = check;
    group.nodes = {0, *peer};
    auto giving = std::make_shared<Transfer>(services, std::move(group), std::move(about));
    giving->watch(giving);
    return giving;
}

// The Giving owns what it sends.
void send(const std::shared_ptr<Transfer>& giving, std::span<const std::byte> bytes,
          const collectives::TransferOptions& options) {
    base::spawn<base::Result<>>(
        collectives::transfer_to(giving->communicator, 1, bytes, options),
        [giving](const base::Result<>& result) { giving->log_failure(result); });
}

}  // namespace

std::weak_ptr<Transfer> Giving::give(Services& services, Transfer::About about, uint64_t number,
                                     uint32_t check, Scratch memory, size_t bytes) {
    const auto giving = prepare(services, std::move(about), number, check);
    if (!giving) return {};
    giving->memory = std::move(memory);
    send(giving, {giving->memory.data(), bytes}, services.options.transfer);
    return giving;
}

std::weak_ptr<Transfer> Giving::give_held(Services& services, Transfer::About about,
                                          uint64_t number, uint32_t check,
                                          std::span<const std::byte> bytes,
                                          std::shared_ptr<const void> memory) {
    const auto giving = prepare(services, std::move(about), number, check);
    if (!giving) return {};
    giving->held = std::move(memory);
    send(giving, bytes, services.options.transfer);
    return giving;
}

base::Result<std::weak_ptr<Transfer>> Giving::give_copy(Services& services, Transfer::About about,
                                                        uint64_t number, uint32_t check,
                                                        std::span<const std::byte> bytes) {
    Scratch copy;
    PACE_TRY_ASSIGN(memory, copy.reserve(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), memory.begin());
    return give(services, std::move(about), number, check, std::move(copy), bytes.size());
}

}  // namespace pace::daemon
