#include "daemon/exchange/transfer.h"

#include <vector>

#include "base/log/training_events.h"
#include "daemon/exchange/exchange.h"

namespace pace::daemon {

Transfer::Transfer(Services& services, collectives::Group group, About about)
    : communicator(services.transport, std::move(group)),
      services_(services),
      about_(std::move(about)) {}

void Transfer::watch(const std::shared_ptr<Transfer>& self) {
    services_.active.add(self);
    const collectives::Group& group = communicator.group();
    if (group.self == 0) return;
    services_.transport.receive(
        group.nodes[0], {group.exchange, kPoisonSlot, 0}, {},
        [weak = std::weak_ptr(self)](const base::Result<>& got) {
            const auto taking = weak.lock();
            if (!taking || !got) return;
            taking->communicator.abort(base::make_error(
                base::ErrorKind::memory, "{} cannot give {}; its log says why",
                taking->services_.peers.name(taking->about_.node), taking->about_.what));
        });
}

void Transfer::abort(const base::Error& error) {
    communicator.abort(error);
}

void Transfer::peer_lost(transports::PeerId peer, const base::Error& error) {
    communicator.peer_lost(peer, error);
}

void Transfer::log_failure(const base::Result<>& result) const {
    if (result || result.error().kind == base::ErrorKind::aborted) return;
    base::log_event(base::events::kTransferFailed, {{"job", services_.job_name(about_.job)},
                                                    {"what", about_.what},
                                                    {"peer", services_.peers.name(about_.node)},
                                                    {"reason", result.error().message}});
}

base::Duration Transfer::stalled_for(base::TimePoint now) {
    return now - communicator.last_progress();
}

}  // namespace pace::daemon
