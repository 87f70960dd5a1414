// Static groups: the topology alone says who averages with whom. After Luo et al., Prague, ASPLOS
// 2020, section 4.2 and figure 10, for any number of nodes and any number of workers on each.
//
// Each worker counts its averages as turns. The turns repeat in four phases:
//
//   0  The first workers of all nodes form a group. The other workers of each node form pairs.
//      If their number is odd, the second worker is left out.
//   1  The workers of each node form a group.
//   2  The second worker of each node meets the second worker of the opposite node, which is half
//      of the nodes away. If a node has only one worker, that worker takes the part. The other
//      workers of each node form pairs: the first with the last, and so on inwards.
//   3  The workers of each node form a group.
//
// No worker is in two groups of one phase, so groups never wait for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace pace::protocol {

class StaticGroups {
  public:
    using Rank = uint32_t;
    static constexpr uint64_t kPhases = 4;

    StaticGroups() = default;
    // `nodes` has the ranks on each node, in the order that all nodes agree on. No node may be
    // empty.
    explicit StaticGroups(std::vector<std::vector<Rank>> nodes);

    // Returns the ranks that average with `rank` in its turn, `rank` included, in node order. If
    // `rank` is left out, the result is `rank` alone. The result is empty for a rank that is on no
    // node.
    std::vector<Rank> group_of(Rank rank, uint64_t turn) const;

  private:
    struct Place {
        size_t node = 0;
        size_t index = 0;  // position among the node's workers
    };
    std::vector<Rank> heads_or_pair(Place place) const;
    std::vector<Rank> across_or_pair(Place place) const;

    std::vector<std::vector<Rank>> nodes_;
    std::map<Rank, Place> places_;
};

}  // namespace pace::protocol
