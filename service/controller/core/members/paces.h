// Paces: the input for finding slow workers (slowness.h), collected from a job and its nodes.
#pragma once

#include <vector>

#include "service/controller/core/members/slowness.h"
#include "service/controller/core/members/worker.h"
#include "service/controller/core/nodes/cluster.h"

namespace pace::controller {

// How long the node has been silent, if this is longer than usual; none if all is well.
std::optional<Duration> silence_of(const Cluster& cluster, NodeId node, TimePoint now);

// The paces of the workers for which others may wait, in rank order.
std::vector<Pace> paces_of(const std::vector<Worker>& workers, const Cluster& cluster,
                           TimePoint now);

}  // namespace pace::controller
