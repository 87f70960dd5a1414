// InterIntra: who is in a group with whom when workers are divided by where they are (Luo et al., Prague, ASPLOS 2020,
// section 5.2), and our third level, for nodes that lie in several zones.
//
// A plan is a list of groups in their order; a worker that is in several takes them in that order. All is drawn at
// random. Groups are of group_size; of more where somebody would be alone otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/random.h"
#include "service/controller/core/types.h"

namespace pace::controller {

class InterIntra {
  public:
    using Ranks = std::vector<Rank>;
    using Zone = std::vector<Ranks>;  // its nodes' workers

    InterIntra(uint32_t group_size, base::Random& random)
        : group_size_(group_size), random_(random) {}

    // Into groups, each worker in one.
    std::vector<Ranks> divide(Ranks ranks);

    // Figure 12. Inter: each node's *head worker* with those of other nodes, the others within their node; one who
    // would be alone goes with his head worker: their node sends one stream either way. Intra: each node.
    std::vector<Ranks> over_nodes(std::vector<Ranks> nodes);

    // First each zone's *head* with those of other zones, the other nodes' heads within their zone, all others within
    // their node; then all nodes' heads within their zone, the others within their node; then each node.
    //
    // So one worker of each zone has one exchange across zones. What it brought reaches, in the plan's other groups, the
    // heads of its zone's nodes and then all their workers. A second one goes with it only if its zone has nobody
    // else for him. Each worker gets three groups, but one alone in its zone the first one only.
    std::vector<Ranks> over_zones(std::vector<Zone> zones);

  private:
    // The inter phase as it grows, node by node.
    struct Inter {
        Ranks heads;
        std::map<Rank, Rank> beside;  // by head: the one who would be alone
        std::vector<Ranks> within;
    };

    template <typename Item>
    void shuffle(std::vector<Item>& items);
    void divide_into(std::vector<Ranks>& ret_groups, Ranks ranks);
    void join_any(std::vector<Ranks>& groups, Rank rank);
    void add_node(Inter& inter, const Ranks& node);
    void end_inter(Inter inter, std::vector<Ranks>& ret_plan);
    Inter inter_of(std::span<const Ranks> nodes);
    Ranks without_head(const Zone& zone, std::vector<Ranks>& ret_within);
    void add_zone(Inter& inter, const Zone& zone);
    void within_zone(const Zone& zone, std::vector<Ranks>& ret_plan);
    void within_nodes(const Zone& zone, std::vector<Ranks>& ret_plan);

    uint32_t group_size_;
    base::Random& random_;
};

}  // namespace pace::controller
