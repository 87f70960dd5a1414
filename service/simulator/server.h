// Servers: a job with a parameter server (bsp, ssp, asp), in virtual time (Jiang et al., SIGMOD 2017).
//
// The model of S bytes lies on all n nodes, a shard of S / n on each. After a step a worker pushes its update, and pulls the model for its
// next one: with bsp and asp always, with ssp when the slowest worker, as far as its last pull has told, is more than
// server.staleness steps behind, as pace.torch does. A pull for the step of clock c waits until c is at most server.staleness (bsp: 0)
// ahead of the slowest clock. One after the other:
//   push  2 S / memory + (n - 1) / n S / link + latency, and the controller's word that it counts: controller_us
//   pull  the controller's word: controller_us, or when it may; (n - 1) / n S / link + 2 S / memory + latency
// Pushes use the worker's link outward, pulls inward. All pushes together share the links of the servers, n times the slowest of
// them, and so do all pulls. Between zones goes the part of a zone's nodes.
#pragma once

#include "service/simulator/outcome.h"
#include "service/simulator/scenario.h"

namespace pace::simulator {

Outcome run_server(const Scenario& scenario, const Candidate& candidate);

}  // namespace pace::simulator
