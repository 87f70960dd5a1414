// CommonModel: how far workers' copies of one model are apart, in the picture of training of
// disagreement.h. All workers get the same updates in one order, but some get them later.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "service/controller/vocabulary/types.h"

namespace pace::simulator {

class CommonModel {
  public:
    CommonModel(uint32_t workers, uint64_t seed) : copies_(workers), random_(seed) {}

    // Adds a worker's update, which counts as one of N. In the mean of all updates, its noise is 1
    // / N.
    void add();

    // Gives the present model to a worker.
    void give(controller::Rank rank);

    // The squared distance from the mean of all copies, per number, in units of one step's
    // variance.
    double distance(controller::Rank rank) const;

  private:
    static constexpr size_t kNumbers = 4;
    using Model = std::array<double, kNumbers>;

    Model model_{};
    std::vector<Model> copies_;
    Model sum_{};  // sum of the copies
    base::Random random_;
};

}  // namespace pace::simulator
