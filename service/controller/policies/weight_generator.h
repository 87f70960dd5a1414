// Weight generator: the shares of each member's model and of the initial model in a group's average
// (partial reduce, sections 3.1 and 3.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

struct GroupWeights {
    std::vector<double> members;  // in the order of the given iterations
    double initial = 0;           // of the model at the start of training
    uint64_t iteration = 0;       // of every member afterwards: the newest
};

// `iterations` of the members must not be empty. The weights, `initial` included, sum to one.
// Iterations may be any numbers: the cost depends only on the number of members.
void generate_weights(const JobOptions& options, std::span<const uint64_t> iterations,
                      GroupWeights& ret_weights);

}  // namespace pace::controller
