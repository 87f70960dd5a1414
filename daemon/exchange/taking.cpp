#include "daemon/exchange/taking.h"

#include <utility>

#include "daemon/collectives/transfer.h"

namespace pace::daemon {

using base::Result;

std::shared_ptr<Transfer> Taking::take(const base::Scope& owner, Services& services,
                                       Transfer::About about, uint64_t number, uint32_t check,
                                       size_t bytes, const Done& done) {
    const auto fail = [&](base::Error error) {
        services.loop.defer(owner.callback([done, error = std::move(error)] { done(error); }));
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
        [taking, span = *memory, &loop, told = owner.bind(done)](const Result<>& result) {
            taking->log_failure(result);
            // Later: one that ends at once would do so inside take().
            loop.defer(base::keep(taking, [span, told, result](const Transfer&) {
                if (result) {
                    told(Result<std::span<const std::byte>>(span));
                } else {
                    told(Result<std::span<const std::byte>>(result.error()));
                }
            }));
        });
    return taking;
}

}  // namespace pace::daemon
