#include "service/simulator/timing/common_model.h"

namespace pace::simulator {

void CommonModel::add() {
    const uint64_t bits = random_.next();
    const double noise = 1 / static_cast<double>(copies_.size());
    for (size_t i = 0; i < kNumbers; ++i) model_[i] += (bits >> i & 1U) != 0 ? noise : -noise;
}

void CommonModel::give(controller::Rank rank) {
    for (size_t i = 0; i < kNumbers; ++i) sum_[i] += model_[i] - copies_[rank][i];
    copies_[rank] = model_;
}

double CommonModel::distance(controller::Rank rank) const {
    double squares = 0;
    for (size_t i = 0; i < kNumbers; ++i) {
        const double far = copies_[rank][i] - sum_[i] / static_cast<double>(copies_.size());
        squares += far * far;
    }
    return squares / kNumbers;
}

}  // namespace pace::simulator
