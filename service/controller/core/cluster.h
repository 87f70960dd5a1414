// Cluster: what all jobs share.
#pragma once

#include "service/controller/core/core.h"
#include "service/controller/core/cut_links.h"
#include "service/controller/core/link_table.h"
#include "service/controller/core/membership.h"

namespace pace::controller {

struct Cluster {
    explicit Cluster(const CoreOptions& given) : options(given), nodes(given) {}

    CoreOptions options;
    Membership nodes;
    LinkTable links;
    CutLinks cuts;
    GroupId next_group = 1;
    // Drawn for this life of the controller: part of what it numbers, so that two lives that know nothing of each other give no
    // number twice.
    uint32_t life = 0;
    Core::Counters counters;
};

// The zone that an exchange's order of summing follows, of a node that lies in `zone` as far as is known. A measurement is
// another at every run, and a sum is to be the same: unless the operator prefers speed, only labels count.
inline uint32_t relay_zone_of(const Cluster& cluster, NodeId node, uint32_t zone) {
    return cluster.options.relay_measured_zones ? zone : cluster.nodes.label_of(node);
}

}  // namespace pace::controller
