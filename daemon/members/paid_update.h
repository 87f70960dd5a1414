// paid_update: a worker's update of a shard, charged to its user as long as anybody holds the
// update: the node that has pushed it, the node that keeps the shard, or both.
#pragma once

#include <memory>
#include <utility>

#include "base/threads/release_thread.h"
#include "daemon/runtime/accounts.h"
#include "daemon/server/shard.h"

namespace pace::daemon {

// Charged whatever the limits: the update's bytes are here already, and a worker has few updates
// under way.
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
