// Places: which nodes of a job are near each other according to measured links, for nodes without a
// label from the operator.
//
// Single linkage: two nodes are near if 1 MiB takes at most three times as long between them as
// between the job's fastest pair. A place is a set of nodes connected by near pairs. Since
// measurements are noisy, a near pair stays near up to four times, and another pair becomes near
// below two.
//
// Places are known when all pairs of nodes without a label were measured, and the nodes are in at
// least two places; a single place is of no use.
#pragma once

#include <map>
#include <span>
#include <utility>

#include "service/controller/core/nodes/link_table.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class Places {
  public:
    // Numbers of labels are below this, numbers of places from here on.
    static constexpr uint32_t kFirstPlace = uint32_t{1} << 31U;

    // Jobs with more nodes without a label have no places: daemons do not measure so many pairs,
    // and each refresh looks at all pairs.
    static constexpr size_t kNodesMax = 64;

    struct Node {
        NodeId node = 0;
        bool has_label = false;
    };

    // Examines the links of a job's nodes (sorted, distinct) again. Forgets pairs with a node that
    // is gone.
    void refresh(std::span<const Node> nodes, const LinkTable& links);

    // The number of the node's place, ordered by the places' first nodes; 0 if unknown.
    uint32_t place_of(NodeId node) const;

    // Keyed by node.
    const std::map<NodeId, uint32_t>& all() const { return places_; }

  private:
    using Pair = std::pair<NodeId, NodeId>;  // the lower one first

    bool judge(std::span<const NodeId> nodes, double fastest, const LinkTable& links);
    void connect(std::span<const NodeId> nodes);

    std::map<Pair, bool> near_;  // at the last refresh
    std::map<NodeId, uint32_t> places_;
};

}  // namespace pace::controller
