// Choice: which policy and group size to take, and why.
//
// The best is the one with the most *effective updates* per second: updates_per_s / (1 + spread). An update is worth less
// the further apart the models are that it is made on: its gradient is of one worker's model, while what is learnt
// is their mean. The spread is that distance squared, in units of what one update adds (disagreement.h), so that all-reduce,
// whose spread is 0, counts in full, and two random workers at a time by half. How much a real job
// suffers depends on its learning rate and model, which nobody here knows (partial reduce, Theorem 1, multiplies the same
// network error by learning rate and smoothness): a guess to begin with, to be tried on the job itself.
//
// Groups that left the workers in several components (rho is 1) are not chosen if there is anything else.
#pragma once

#include <span>
#include <string>

#include "service/simulator/outcome.h"

namespace pace::simulator {

// Index of the best; of equals the first. `predictions` are not empty.
size_t best_of(std::span<const Prediction> predictions);

// A few sentences for people: what to choose, how to ask for it, and why.
std::string advice(std::span<const Prediction> predictions);

}  // namespace pace::simulator
