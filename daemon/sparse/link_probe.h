// link_probe: what a message and a byte cost between the nodes, measured, for the cost model. The
// daemon chooses by a nominal link (docs/decisions/0031); benches measure.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/sparse/link.h"

namespace pace::sparse {

// Each node sends eight tiny messages to the next node of the ring and waits for an answer to each,
// then one of 256 KiB, while the node before it does the same with it. α is half the median round
// trip, the first left out, which waits for the other side to begin; β what the large message took
// beyond. Then all tell all, and the worst of each counts: an exchange is as slow as its slowest
// pair. The result is the same, bit for bit, on all nodes, and within the bounds of link.h. A node
// alone gets the defaults.
//
// Once per membership, in an exchange of its own. Takes about ten round trips and what the large
// message needs, a few milliseconds at 1 Gbit/s; memory for one. `now` is the clock. Ends when every
// operation has ended; errors: the transport's, or what abort() was given.
base::Task<base::Result<Link>> measure_links(collectives::Communicator& communicator,
                                             std::function<base::TimePoint()> now = &base::now);

}  // namespace pace::sparse
