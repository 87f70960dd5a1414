// Disagreement: how far the workers' models are from their mean, in a picture of training that is all noise.
//
// Each worker has a model of a few numbers, at first 0. A step adds to each of them an independent draw of variance 1;
// an exchange averages the members' models with the weights of the controller's order. `distance` is what the
// convergence proofs of such training bound by the spectral gap: the network error, the square of a model's
// distance from the mean of all models (partial reduce, Theorem 1; Cooperative SGD). Measured here, it also knows how often
// which worker takes part and in which order groups follow each other, which rho does not.
//
// With all-reduce it is 0 whenever a step begins. With random groups of P among many it is 1 / (P - 1): of what its step
// adds, 1, and of what was left, v, a group leaves each member (v + 1) / P = v. Groups that keep to themselves drift
// apart without end.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "service/controller/core/types.h"

namespace pace::simulator {

class Disagreement {
  public:
    Disagreement(uint32_t workers, uint64_t seed) : models_(workers), random_(seed) {}

    void step(controller::Rank rank);
    void average(std::span<const controller::Part> members);

    // Squared, from the mean of all, per number: in units of one step's variance.
    double distance(controller::Rank rank) const;

  private:
    static constexpr size_t kNumbers = 4;
    using Model = std::array<double, kNumbers>;

    std::vector<Model> models_;
    Model sum_{};
    base::Random random_;
};

}  // namespace pace::simulator
