// Cluster: the state that all jobs share.
#pragma once

#include "service/controller/core/nodes/cut_links.h"
#include "service/controller/core/nodes/link_table.h"
#include "service/controller/core/nodes/membership.h"
#include "service/controller/vocabulary/core_options.h"

namespace pace::controller {

struct Cluster {
    Cluster(const CoreOptions& given, uint64_t (*make_token)())
        : options(given), nodes(given, make_token) {}

    CoreOptions options;
    Membership nodes;
    LinkTable links;
    CutLinks cuts;
    GroupId next_group = 1;
    // A random number for this life of the controller. Generation numbers include it, so that two
    // lives that know nothing of each other never give the same number.
    uint32_t life = 0;
    CoreCounters counters;
};

// The zone of a node that determines the summing order of an exchange. `zone` is the node's zone as
// far as known. Measurements differ from run to run, but sums must be reproducible. So only labels
// count, unless the operator prefers speed.
inline uint32_t relay_zone_of(const Cluster& cluster, NodeId node, uint32_t zone) {
    return cluster.options.relay_measured_zones ? zone : cluster.nodes.label_of(node);
}

}  // namespace pace::controller
