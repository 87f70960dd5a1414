// Cluster: what all jobs share.
#pragma once

#include "service/controller/core/core.h"
#include "service/controller/core/link_table.h"
#include "service/controller/core/membership.h"

namespace pace::controller {

struct Cluster {
    explicit Cluster(const CoreOptions& given) : options(given), nodes(given) {}

    CoreOptions options;
    Membership nodes;
    LinkTable links;
    GroupId next_group = 1;
    Core::Counters counters;
};

}  // namespace pace::controller
