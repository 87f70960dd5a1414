// Disagreement: how far the workers' models are from their mean, in a picture of training that is
// only noise.
//
// Each worker has a model of a few numbers, which begin at 0. A step adds to each number an
// independent draw of variance 1. An exchange averages the members' models with the weights of the
// controller's order. `distance` is what the convergence proofs of such training bound by the
// spectral gap: the network error, which is the square of a model's distance from the mean of all
// models (partial reduce, Theorem 1; Cooperative SGD). The measurement here also includes how often
// each worker takes part, and the order of the groups. rho does not include these.
//
// With all-reduce the distance is 0 whenever a step begins. With random groups of P workers among
// many, it is 1 / (P - 1). A step adds 1 to the remaining distance v, and a group leaves each
// member (v + 1) / P = v. Groups that keep to themselves drift apart without limit.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "service/controller/vocabulary/types.h"

namespace pace::simulator {

class Disagreement {
  public:
    Disagreement(uint32_t workers, uint64_t seed) : models_(workers), random_(seed) {}

    void step(controller::Rank rank);
    void average(std::span<const controller::Part> members);

    // The squared distance from the mean of all models, per number, in units of one step's
    // variance.
    double distance(controller::Rank rank) const;

  private:
    static constexpr size_t kNumbers = 4;
    using Model = std::array<double, kNumbers>;

    std::vector<Model> models_;
    Model sum_{};
    base::Random random_;
};

}  // namespace pace::simulator
