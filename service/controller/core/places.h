// Places: which nodes of a job are near each other, by what their links were measured to take, where no operator has said.
//
// Single linkage: two nodes are near if 1 MiB takes at most three times as long between them as between the fastest
// pair of the job; a place is what near pairs connect. Measurements are noisy: a pair that is near stays so
// up to four times, and one that is not comes near below two.
//
// Places are known when all pairs of nodes without a label were measured and are in two places at least; one place
// is as good as none.
#pragma once

#include <map>
#include <span>
#include <utility>

#include "service/controller/core/link_table.h"
#include "service/controller/core/types.h"

namespace pace::controller {

class Places {
  public:
    // Numbers of labels are below it, those of places from it on.
    static constexpr uint32_t kFirstPlace = uint32_t{1} << 31U;

    // Jobs with more nodes without a label have no places: daemons do not measure so many pairs, and all are looked at.
    static constexpr size_t kNodesMax = 64;

    struct Node {
        NodeId node = 0;
        bool has_label = false;
    };

    // Looks at the links of a job's nodes (sorted, distinct) again. Pairs of which one is gone are forgotten.
    void refresh(std::span<const Node> nodes, const LinkTable& links);

    // The number of the node's place, in the order of their first nodes; 0 if it is not known.
    uint32_t place_of(NodeId node) const;

    // By node.
    const std::map<NodeId, uint32_t>& all() const { return places_; }

  private:
    using Pair = std::pair<NodeId, NodeId>;  // the lower one first

    bool judge(std::span<const NodeId> nodes, double fastest, const LinkTable& links);
    void connect(std::span<const NodeId> nodes);

    std::map<Pair, bool> near_;  // as last judged
    std::map<NodeId, uint32_t> places_;
};

}  // namespace pace::controller
