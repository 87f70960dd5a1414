// Static groups: who averages with whom, from the topology alone (Luo et al., Prague, ASPLOS 2020, section 4.2 and figure 10,
// for any number of nodes and of workers on each).
//
// Averages are counted by turns, and the turns repeat in four phases:
//
//   0  the first worker of every node; the others of a node in pairs, the second one left out if they are odd
//   1  each node's workers
//   2  the second worker (a lone one: that) with that of the opposite node, half of the nodes away; the others of a node in
//      pairs, first with last and so on inwards
//   3  each node's workers
//
// In no phase is a worker in two groups, so that groups never wait for each other.
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
    // The ranks on each node, in the order that all nodes agree on; no node without any.
    explicit StaticGroups(std::vector<std::vector<Rank>> nodes);

    // The ranks that average with `rank` in its turn, itself included, in node order; itself alone if it is left out.
    // Empty for a rank that is on no node.
    std::vector<Rank> group_of(Rank rank, uint64_t turn) const;

  private:
    struct Place {
        size_t node = 0;
        size_t index = 0;  // among the node's workers
    };
    std::vector<Rank> heads_or_pair(Place place) const;
    std::vector<Rank> across_or_pair(Place place) const;

    std::vector<std::vector<Rank>> nodes_;
    std::map<Rank, Place> places_;
};

}  // namespace pace::protocol
