#include "daemon/exchange/taking.h"

#include <utility>

#include "daemon/collectives/messages/transfer.h"

namespace pace::daemon {

using base::Result;

std::shared_ptr<Transfer> Taking::take(const base::Scope& owner, Services& services,
                                       Transfer::About about, uint64_t number, uint32_t check,
                                       size_t bytes, const Done& done) {
    return begin(owner, services, std::move(about), number, check, bytes,
                 [done, bytes](const Result<std::shared_ptr<Transfer>>& taken) {
                     if (!taken) return done(taken.error());
                     done(std::span<const std::byte>((*taken)->memory.data(), bytes));
                 });
}

std::shared_ptr<Transfer> Taking::take_memory(const base::Scope& owner, Services& services,
                                              Transfer::About about, uint64_t number,
                                              uint32_t check, size_t bytes, const Given& done) {
    return begin(owner, services, std::move(about), number, check, bytes,
                 [done](const Result<std::shared_ptr<Transfer>>& taken) {
                     if (!taken) return done(taken.error());
                     done(std::move((*taken)->memory));
                 });
}

std::shared_ptr<Transfer> Taking::begin(const base::Scope& owner, Services& services,
                                        Transfer::About about, uint64_t number, uint32_t check,
                                        size_t bytes, const Ended& ended) {
    const auto fail = [&](base::Error error) {
        services.loop.defer(owner.callback([ended, error = std::move(error)] { ended(error); }));
        return nullptr;
    };
    const auto peer = services.peers.peer(about.node);
    if (!peer) return fail(peer.error());
    collectives::Group group;
    group.exchange = number;
    group.check = check;
    group.nodes = {*peer, 0};
    group.self = 1;
    auto taking = std::make_shared<Transfer>(services, std::move(group), std::move(about));
    const auto memory = taking->memory.reserve(bytes);
    if (!memory) return fail(memory.error());
    taking->watch(taking);
    base::EventLoop& loop = services.loop;
    base::spawn<Result<>>(
        collectives::transfer_from(taking->communicator, 0, *memory, services.options.transfer),
        [taking, &loop, told = owner.bind(ended)](const Result<>& result) {
            taking->log_failure(result);
            // Deferred: a transfer that ends at once would call inside begin().
            loop.defer(base::keep(taking, [taking, told, result](const Transfer&) {
                if (result) {
                    told(Result<std::shared_ptr<Transfer>>(taking));
                } else {
                    told(Result<std::shared_ptr<Transfer>>(result.error()));
                }
            }));
        });
    return taking;
}

}  // namespace pace::daemon
