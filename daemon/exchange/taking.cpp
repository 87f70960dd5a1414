#include "daemon/exchange/taking.h"

#include <utility>

#include "daemon/collectives/transfer.h"

namespace pace::daemon {

using base::Result;

std::shared_ptr<Taking> Taking::take(Services& services, uint64_t number, uint32_t check,
                                     NodeId node, size_t bytes, Done done) {
    const auto fail = [&](base::Error error) {
        services.loop.defer([done, error = std::move(error)] { done(error); });
        return nullptr;
    };
    const auto peer = services.peers.peer(node);
    if (!peer) {
        return fail(base::make_error(base::ErrorKind::unavailable, "{} is gone",
                                     services.peers.name(node)));
    }
    collectives::Group group;
    group.exchange = number;
    group.check = check;
    group.nodes = {*peer, 0};
    group.self = 1;
    std::shared_ptr<Taking> taking(new Taking(services, std::move(group)));
    const auto memory = taking->memory_.reserve(bytes);
    if (!memory) return fail(memory.error());
    base::EventLoop& loop = services.loop;
    base::spawn<Result<>>(
        collectives::transfer_from(taking->communicator_, 0, *memory, services.options.transfer),
        [taking, span = *memory, &loop, done = std::move(done)](const Result<>& result) {
            // Later: one that ends at once would do so inside take().
            loop.defer([taking, span, done, result] {
                if (result) {
                    done(std::span<const std::byte>(span));
                } else {
                    done(result.error());
                }
            });
        });
    return taking;
}

}  // namespace pace::daemon
