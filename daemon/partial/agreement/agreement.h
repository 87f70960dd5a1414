// Agreement: tells all nodes alike which workers contribute to a round, and how stale their
// contributions are.
//
// When a node takes part in the round, it says what its own workers give at this moment. One small
// all-gather (Bruck et al. 1997, ⌈log2 N⌉ rounds for any N) tells all nodes. It runs ahead of the
// data rather than with the data. Only so can nodes that have nothing be skipped, and only so do
// all nodes divide alike. When the agreement ends at one node, every node has begun the round.
//
// On the wire, by node: the digest of the node's terms, then a u32 per worker of the roster,
// little-endian. Any value is valid.
#pragma once

#include <cstdint>
#include <vector>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/partial/agreement/roster.h"

namespace pace::partial {

// Stands in the place of a staleness: this worker gives nothing.
inline constexpr uint32_t kNothing = 0x7FFFFFFF;
// A bit beside a staleness: this worker has called a verb of all members and waits for the others.
inline constexpr uint32_t kWaits = 0x80000000;

// The staleness of what each worker of a node gives, in rounds, in the roster's order.
using Snapshot = std::vector<uint32_t>;

struct NodeView {
    uint32_t terms = 0;  // digest; 0 if the node has no terms yet
    Snapshot given;
    bool operator==(const NodeView&) const = default;
};

class Agreement {
  public:
    // Both arguments must outlive the Agreement.
    Agreement(collectives::Communicator& communicator, const Roster& roster)
        : communicator_(communicator), roster_(roster) {}
    Agreement(const Agreement&) = delete;
    Agreement& operator=(const Agreement&) = delete;

    // Returns all nodes' views, in node order. `own.given` has an entry for each worker of this
    // node. Called once per exchange. An error aborts the communicator. Ends when every operation
    // has ended.
    base::Task<base::Result<std::vector<NodeView>>> run(NodeView own);

    // The nodes with which an operation of this agreement is under way, in node order.
    std::vector<size_t> waiting_for() const;

  private:
    collectives::Communicator& communicator_;
    const Roster& roster_;
    collectives::Operation sent_;
    collectives::Operation received_;
    size_t to_ = 0;
    size_t from_ = 0;
};

}  // namespace pace::partial
