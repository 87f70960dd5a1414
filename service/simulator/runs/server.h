// Servers: a job with a parameter server (bsp, ssp, asp), in virtual time (Jiang et al., SIGMOD
// 2017).
//
// The model has S bytes and lies on all n nodes, with a shard of S / n on each. After a step, a
// worker pushes its update. It then pulls the model for its next step. With bsp and asp it always
// pulls. With ssp it pulls if the slowest worker, as far as its last pull told, is more than
// server.staleness steps behind. pace.torch does the same. A pull for the step of clock c waits
// until c is at most server.staleness (bsp: 0) ahead of the slowest clock. The parts follow one
// after the other:
//   push  2 S / memory + (n - 1) / n S / link + latency, and the controller's word that it counts:
//         controller_us
//   pull  the controller's word: controller_us, or when it may;
//         (n - 1) / n S / link + 2 S / memory + latency
//
// Pushes use the worker's link outward, and pulls use it inward. All pushes together share the
// servers' links, n times the slowest of them. All pulls together do the same. Between zones, the
// traffic is the part of the zone's nodes.
#pragma once

#include "service/simulator/model/scenario.h"
#include "service/simulator/runs/outcome.h"

namespace pace::simulator {

Outcome run_server(const Scenario& scenario, const Candidate& candidate);

}  // namespace pace::simulator
