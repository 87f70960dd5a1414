// Travel: what part of the gradients each node sends in an exchange of all, and in how many hops.
//
// An exchange has S bytes, in elements of e bytes, among P nodes. Compressed:
//   none       2 (P - 1) / P S                 two hops
//   f16, bf16  the same with halves: 2 bytes for each of the S / e numbers
//   spardl     4 k (P - 1) / P elements        2 ceil(log2 P) hops
//
// spardl is SparDL's Spar-Reduce-Scatter and its all-gather with one team (Zhao et al., "SparDL:
// Distributed Deep Learning Training with Efficient Sparse Communication", Table 1). A chosen
// number counts as two elements there, its index and its value. That makes 2 k (P - 1) / P pairs. A
// pair is a float32 and an index of 2 + log2(1 / density) bits, as with topk.indices "compressed"
// (Elias and Fano). Choosing takes 1 ns for each number. A round goes dense if Pace expects that to
// be faster. Pace calculates this for a link of 1 Gbit/s, whatever the real link is
// (docs/decisions/0031).
#pragma once

#include <cstddef>

#include "service/simulator/model/scenario.h"

namespace pace::simulator {

struct Travel {
    double bytes = 0;  // that each node sends
    double hops = 2;
    double choosing_s = 0;
    bool is_sparse = false;
};

// `nodes` must be at least 2.
Travel travel_of(const Scenario& scenario, size_t nodes, const Candidate& candidate);

}  // namespace pace::simulator
