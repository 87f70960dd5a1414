// Agreement: who contributes to a round, and how stale, known to all nodes alike.
//
// Each node says what its own workers give at the moment at which it takes part in the round; one
// small all-gather (Bruck et al. 1997, ⌈log2 N⌉ rounds for any N) tells everybody. Ahead of the
// data rather than with it, because only then can nodes that have nothing be skipped, and all
// divide alike. When it ends at one node, every node has begun the round.
//
// On the wire, by node: its terms' digest, then a u32 per worker of the roster, little-endian; any
// value is valid.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/partial/roster.h"

namespace pace::partial {

// Instead of a staleness: this worker gives nothing.
inline constexpr uint32_t kNothing = 0x7FFFFFFF;
// Beside a staleness: this worker has called a verb of all members, and waits for the others.
inline constexpr uint32_t kWaits = 0x80000000;

// By worker of a node, in the roster's order: the staleness of what it gives, in rounds.
using Snapshot = std::vector<uint32_t>;

struct NodeView {
    uint32_t terms = 0;  // digest; 0: the node has none yet
    Snapshot given;
    bool operator==(const NodeView&) const = default;
};

class Agreement {
  public:
    // Both must outlive this.
    Agreement(collectives::Communicator& communicator, const Roster& roster)
        : communicator_(communicator), roster_(roster) {}
    Agreement(const Agreement&) = delete;
    Agreement& operator=(const Agreement&) = delete;

    // `own.given` has an entry for each worker of this node. Gives all nodes' views, in node order.
    // Once per exchange. An error aborts the communicator. Ends when every operation has ended.
    base::Task<base::Result<std::vector<NodeView>>> run(NodeView own);

    // The nodes with which an operation of this is under way, in node order.
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
