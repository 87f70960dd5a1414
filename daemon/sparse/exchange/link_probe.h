// link_probe: measures the costs of a message and of a byte between the nodes, for the cost model.
// Benches measure. The daemon uses a nominal link (docs/decisions/0031).
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/sparse/wire/link.h"

namespace pace::sparse {

// Each node sends eight tiny messages to the next node of the ring and waits for an answer to each.
// Then it sends one message of 256 KiB. The node before it does the same with this node. α is half
// the median round trip. The first round trip does not count, because it waits for the other side
// to begin. β comes from the time that the large message took beyond α. Then all nodes tell all
// nodes, and the worst values count: an exchange is as slow as its slowest pair. The result is the
// same, bit for bit, on all nodes, and within the bounds of link.h. A node alone gets the defaults.
//
// Called once per membership, in an exchange of its own. Takes about ten round trips and the time
// of the large message, which is a few milliseconds at 1 Gbit/s. Needs memory for one large
// message. `now` is the clock. Ends when every operation has ended. Errors: the transport's error,
// or the error that abort() was given.
base::Task<base::Result<Link>> measure_links(collectives::Communicator& communicator,
                                             std::function<base::TimePoint()> now = &base::now);

}  // namespace pace::sparse
