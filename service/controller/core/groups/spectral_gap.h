// Spectral gap: of E[W] (partial reduce, Assumption 2.3): how fast models mix. Small is good; 1
// means that they never mix.
#pragma once

#include <cstdint>
#include <vector>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// rho = max(|lambda_2|, |lambda_N|) of the mean of the groups' W. A group S averages its members: W
// = I on the workers outside S and 1/|S| within S. Every W is a projection, so that no eigenvalue
// is negative and rho is lambda_2. rho is 1 exactly when the groups leave the workers in several
// components.
//
// Ranks are below `workers`; groups are not empty. The method is Lanczos' iteration on the operator
// with its mean removed (the eigenvector of lambda_1): no matrix is built, and a step costs one
// pass over the groups. `visits_max` bounds the work in members visited, by default to some 7 ms.
// Worlds of a few hundred converge to about 1e-12 long before; for a larger one rho may be a little
// too small. Returns 0 for a world of one or without groups.
double spectral_gap(uint32_t workers, const std::vector<std::vector<Rank>>& groups,
                    uint64_t visits_max = 2'000'000);

}  // namespace pace::controller
