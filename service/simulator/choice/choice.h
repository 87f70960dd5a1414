// Choice: which policy and group size to take, and why.
//
// The best candidate has the most *effective updates* per second: updates_per_s / (1 + spread). An
// update is worth less if the models that it is made on are further apart. The reason: its gradient
// is of one worker's model, but the job learns the mean of the models. The spread is the square of
// this distance, in units of what one update adds (disagreement.h). All-reduce has spread 0 and
// counts in full. Groups of two random workers count by half. How much a real job loses depends on
// its learning rate and model, which the simulator does not know. (In partial reduce, Theorem 1
// multiplies the same network error by learning rate and smoothness.) So the choice is a first
// guess that should be tried on the job itself.
//
// Groups that leave the workers in several components (rho is 1) are chosen only if there is
// nothing else.
#pragma once

#include <span>
#include <string>

#include "service/simulator/runs/outcome.h"

namespace pace::simulator {

// Returns the index of the best candidate. Among equals, the first. `predictions` must not be
// empty.
size_t best_of(std::span<const Prediction> predictions);

// Returns a few sentences for people: what to choose, how to ask for it, and why.
std::string advice(std::span<const Prediction> predictions);

}  // namespace pace::simulator
