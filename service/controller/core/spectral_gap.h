// The spectral gap of E[W] (partial reduce, Assumption 2.3): how fast models mix. Small is good; 1
// means that they never do.
#pragma once

#include <cstdint>
#include <vector>

#include "service/controller/core/types.h"

namespace pace::controller {

// rho = max(|lambda_2|, |lambda_N|) of the mean of the groups' W, in which a group S averages its
// members: W = I on the workers outside S and 1/|S| within it. Every such W is a projection, so
// that no eigenvalue is negative and rho is lambda_2; it is 1 exactly when the groups leave the
// workers in several components.
//
// Ranks are below `workers`; groups are not empty. By Lanczos' iteration on the operator with its
// mean removed (the eigenvector of lambda_1): no matrix is built, a step costs one pass over the
// groups. `visits_max` bounds the work in members visited, by default to some 7 ms; worlds of a few
// hundred converge to about 1e-12 long before, a larger one's rho may come out a little too small.
// 0 for a world of one or without groups.
double spectral_gap(uint32_t workers, const std::vector<std::vector<Rank>>& groups,
                    uint64_t visits_max = 2'000'000);

}  // namespace pace::controller
