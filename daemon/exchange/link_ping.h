// link_ping: what the way to another node takes, measured by messages there and back; for the controller, which tells
// from it who is near (service/controller/core/places.h).
//
// One node pings: eight tiny messages, then three of 256 KiB, each when the one before was answered by a tiny one. The
// fastest of each kind counts (of the tiny ones not the first, which makes the connection), since whatever else the two
// nodes do can only make them slower. A busy moment may last as long as all of them: so there are several such series, apart from each
// other (links.h), and the fastest trips of all count. What no network can do is not believed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"

namespace pace::daemon {

struct LinkTimes {
    uint64_t latency_ns = 0;  // of a tiny message
    double ns_per_byte = 0;
};

// The fastest trip there and back with a message of each kind.
struct LinkTrips {
    base::Duration tiny{};
    base::Duration large{};

    // With those of another series.
    LinkTrips best_with(const LinkTrips& other) const {
        return {std::min(tiny, other.tiny), std::min(large, other.large)};
    }
    // None if they make no sense: a trip that took no time, a large message that was no slower than a tiny one, or was faster than the bytes
    // can be copied.
    std::optional<LinkTimes> times() const;
};

// Both among a communicator's two nodes, in an exchange of its own. End when every operation has ended; errors: the
// transport's, or what abort() was given. Memory for one large message, at the other side from the first large one on.
base::Task<base::Result<LinkTrips>> ping_link(collectives::Communicator& communicator,
                                              std::function<base::TimePoint()> now = &base::now);
base::Task<base::Result<>> answer_pings(collectives::Communicator& communicator);

}  // namespace pace::daemon
