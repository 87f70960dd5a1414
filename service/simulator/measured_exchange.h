// MeasuredExchange: what a job's exchanges take, and of whom they are, for what follows from the two by the formula with which pace-sim
// predicts exchanges (exchange_cost.h).
#pragma once

#include <optional>

#include "service/simulator/measured_job.h"
#include "service/simulator/measured_links.h"

namespace pace::simulator {

struct MeasuredExchange {
    double time_s = 0;  // without the latency of its messages
    double nodes = 1;   // that its members are spread over
    double workers_of_node = 1;
    double link_bytes_per_s = 0;  // of the slowest node

    // In which it moves so many bytes of a model among its nodes.
    double moving_s(double bytes) const;
};

// By the worker whose exchanges take least: it has waited for nobody in them. None if nothing was measured, or if not all exchanges are
// of whole models among all: with a quorum, a compression, a server.
std::optional<MeasuredExchange> exchange_of(const MeasuredJob& job, const MeasuredLinks& links);

// The size of a model whose exchanges take so long, with the usual memory.
double bytes_by(const MeasuredExchange& exchange);

// The speed of memory, in GB/s, with which an exchange of the model takes so long; none if links alone take as long.
std::optional<double> memory_by(const MeasuredExchange& exchange, double bytes);

}  // namespace pace::simulator
