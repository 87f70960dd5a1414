// What is looked at to see who is slow (slowness.h), read off a job and the nodes that it is on.
#pragma once

#include <vector>

#include "service/controller/core/cluster.h"
#include "service/controller/core/slowness.h"
#include "service/controller/core/worker.h"

namespace pace::controller {

// How long nothing has been heard of the node, if that is longer than usual; none if all is well.
std::optional<Duration> silence_of(const Cluster& cluster, NodeId node, TimePoint now);

// Of the workers that the others may wait for, in rank order.
std::vector<Pace> paces_of(const std::vector<Worker>& workers, const Cluster& cluster,
                           TimePoint now);

}  // namespace pace::controller
