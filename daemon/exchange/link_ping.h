// link_ping: measures the link to another node by messages there and back, for the controller,
// which concludes which nodes are near (service/controller/core/groups/places.h).
//
// One node pings: eight tiny messages, then three of 256 KiB, each after a tiny answer to the one
// before. The fastest trip of each kind counts, since other work of the two nodes can only slow a
// trip down. The first tiny message, which makes the connection, does not count. A busy moment may
// outlast the whole series, so there are several series, apart from each other (links.h), and the
// fastest trips of all count. Times that no network can reach are discarded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"

namespace pace::daemon {

struct LinkTimes {
    uint64_t latency_ns = 0;  // of a tiny message
    double ns_per_byte = 0;
};

// The fastest trip there and back with a message of each kind.
struct LinkTrips {
    base::Duration tiny{};
    base::Duration large{};

    // The fastest trips of this series and another one.
    LinkTrips best_with(const LinkTrips& other) const {
        return {std::min(tiny, other.tiny), std::min(large, other.large)};
    }
    // None if the trips make no sense: a trip took no time, or a large message was no slower than a
    // tiny one, or faster than its bytes can be copied.
    std::optional<LinkTimes> times() const;
};

// Pings, and answers pings, between a communicator's two nodes, in an exchange of their own. Both
// end when every operation has ended. Errors: the transport's, or the one that abort() was given.
// Both take memory for one large message; the answering node takes it from the first large one on.
base::Task<base::Result<LinkTrips>> ping_link(collectives::Communicator& communicator,
                                              std::function<base::TimePoint()> now = &base::now);
base::Task<base::Result<>> answer_pings(collectives::Communicator& communicator);

}  // namespace pace::daemon
