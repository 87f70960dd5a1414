// MeasuredExchange: how long a job's exchanges take, and between how many workers. The formula with
// which pace-sim predicts exchanges (exchange_cost.h) then gives what follows.
#pragma once

#include <optional>

#include "service/simulator/measured/measured_job.h"
#include "service/simulator/measured/measured_links.h"

namespace pace::simulator {

struct MeasuredExchange {
    double time_s = 0;  // without the latency of its messages
    double nodes = 1;   // nodes on which its members run
    double workers_of_node = 1;
    double link_bytes_per_s = 0;  // of the slowest node

    // The time in which the exchange moves `bytes` bytes of a model among its nodes.
    double moving_s(double bytes) const;
};

// Uses the worker whose exchanges take least, because it waited for nobody. Returns nothing if
// nothing was measured. Also returns nothing if not all exchanges are of whole models among all
// workers: with a quorum, a compression, or a server.
std::optional<MeasuredExchange> exchange_of(const MeasuredJob& job, const MeasuredLinks& links);

// The size of a model whose exchanges take this long, with the usual memory.
double bytes_by(const MeasuredExchange& exchange);

// The speed of memory, in GB/s, for which an exchange of the model takes this long. Returns nothing
// if the links alone take as long.
std::optional<double> memory_by(const MeasuredExchange& exchange, double bytes);

}  // namespace pace::simulator
