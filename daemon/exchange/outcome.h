// ExchangeOutcome: what an exchange has left when it ends at this node. It is on its own: the
// exchange may be gone.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/exchange/run/plan.h"
#include "daemon/gpu/gpu_sum.h"
#include "daemon/runtime/scratch.h"

namespace pace::daemon {

struct ExchangeOutcome {
    base::Result<> result;
    // As it was run, with the numbers that the nodes have told each other. Never null.
    std::shared_ptr<const ExchangePlan> plan;
    collectives::Communicator::Counters traffic;
    // When the last of the other nodes was heard for the first time. Until then the exchange has
    // waited for their members.
    base::TimePoint met{};
    // The exchange failed on this node's GPU, or while it wrote to the members. The members'
    // contents may be gone, so the exchange cannot be begun again.
    bool contents_lost = false;
    // After a mismatch: the node that called something else, or that was the first to say so; 0 if
    // the node is not known.
    NodeId unlike = 0;
    // How many elements a top-k reduction chose, if it has ended well, and what goes with its
    // result for nodes that missed it (sparse::Report).
    size_t entries = 0;
    std::vector<std::byte> hidden;
    // The memory that the exchange was lent, or has reserved. After a success with other nodes it
    // holds the result, unless that formed on a GPU.
    Scratch scratch;
    // Whether the memory may hold something else than when the exchange began.
    bool scratch_touched = false;
    // The result, if it formed on a GPU and is in no memory of the host; otherwise null.
    std::unique_ptr<DeviceResult> on_device;

    explicit operator bool() const { return result.ok(); }
    const base::Error& error() const { return result.error(); }
    bool is_fetch() const { return plan->kind == ExchangePlan::Kind::fetch; }
    bool has_other_nodes() const { return plan->nodes.size() > 1; }
};

}  // namespace pace::daemon
