// paid_update: a worker's update of a shard, which its user pays for as long as anybody holds it: the node that has pushed it, the node
// that keeps the shard, or both.
#pragma once

#include <memory>
#include <utility>

#include "base/release_thread.h"
#include "daemon/exchange/accounts.h"
#include "daemon/server/shard.h"

namespace pace::daemon {

// It counts, whatever the limits: its bytes are here already, and a worker has few updates under way.
inline server::Shard::Update paid_update(server::HybridVector update, const Payer& payer) {
    struct Paid {
        server::HybridVector update;
        Charge charge;
    };
    const uint64_t bytes = update.bytes();
    const auto paid = base::released(Paid{std::move(update), payer.count(bytes)}, bytes);
    return {paid, &paid->update};
}

}  // namespace pace::daemon
