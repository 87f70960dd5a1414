// MeasuredLinks: how fast a job's nodes are connected, from the pairs that their daemons have
// measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "service/simulator/measured/measured_job.h"

namespace pace::simulator {

struct MeasuredLinks {
    std::vector<double> gbit{};  // each node's link
    double latency_us = 0;       // within zones
    // The same for pairs in different zones. None if there are no such pairs or if none was
    // measured.
    std::optional<double> between_gbit{};
    double between_latency_us = 0;
    std::vector<std::string> notes{};
};

MeasuredLinks links_of(const MeasuredJob& job);

}  // namespace pace::simulator
