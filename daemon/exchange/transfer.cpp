#include "daemon/exchange/transfer.h"

#include <vector>

#include "base/log.h"

namespace pace::daemon {

Transfer::Transfer(Services& services, collectives::Group group, About about)
    : communicator(services.transport, std::move(group)),
      services_(services),
      about_(std::move(about)) {}

void Transfer::watch(const std::shared_ptr<Transfer>& self) {
    services_.active.push_back(self);
    services_.exchange_began();
}

void Transfer::abort(const base::Error& error) {
    communicator.abort(error);
}

void Transfer::peer_lost(transports::PeerId peer, const base::Error& error) {
    communicator.peer_lost(peer, error);
}

void Transfer::log_failure(const base::Result<>& result) const {
    if (result || result.error().kind == base::ErrorKind::aborted) return;
    base::log_warning("a transfer has failed", {{"job_id", about_.job},
                                                {"what", about_.what},
                                                {"peer", services_.peers.name(about_.node)},
                                                {"reason", result.error().message}});
}

base::Duration Transfer::stalled_for(base::TimePoint now) {
    return now - communicator.last_progress();
}

}  // namespace pace::daemon
