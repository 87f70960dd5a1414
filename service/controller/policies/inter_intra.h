// InterIntra: divides workers into groups by their place (Luo et al., Prague, ASPLOS 2020, section
// 5.2), with a third level, which is ours, for nodes in several zones.
//
// A plan is a list of groups in order. A worker in several groups takes them in this order. All
// choices are random. Groups have group_size members, or more where a worker would otherwise be
// alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/random.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class InterIntra {
  public:
    using Ranks = std::vector<Rank>;
    using Zone = std::vector<Ranks>;  // workers of each of the zone's nodes

    InterIntra(uint32_t group_size, base::Random& random)
        : group_size_(group_size), random_(random) {}

    // Divides the workers into groups, each worker in exactly one.
    std::vector<Ranks> divide(Ranks ranks);

    // Two phases (Figure 12). Inter: each node's *head worker* is grouped with heads of other
    // nodes, and the other workers within their node. A worker that would be alone joins its head's
    // group: the node sends one stream either way. Intra: each node is one group.
    std::vector<Ranks> over_nodes(std::vector<Ranks> nodes);

    // Three phases. First each zone's *head* is grouped with heads of other zones, the other nodes'
    // heads within their zone, and all other workers within their node. Then all nodes' heads are
    // grouped within their zone, and the others within their node. Last, each node is one group.
    //
    // So one worker of each zone has one exchange across zones. Later groups of the plan carry the
    // result to the heads of the zone's nodes and then to all their workers. A second worker joins
    // the zone's head only if the zone has nobody else for that worker. Each worker gets three
    // groups; a worker that is alone in its zone gets the first one only.
    std::vector<Ranks> over_zones(std::vector<Zone> zones);

  private:
    // The inter phase while nodes are added one by one.
    struct Inter {
        Ranks heads;
        std::map<Rank, Rank> beside;  // head -> the worker that would be alone
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
