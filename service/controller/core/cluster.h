// Cluster: what all jobs share.
#pragma once

#include "service/controller/core/core.h"
#include "service/controller/core/membership.h"

namespace pace::controller {

struct Cluster {
    explicit Cluster(const CoreOptions& given) : options(given), nodes(given) {}

    CoreOptions options;
    Membership nodes;
    GroupId next_group = 1;
    Core::Counters counters;
};

}  // namespace pace::controller
