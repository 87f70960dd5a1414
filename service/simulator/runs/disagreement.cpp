#include "service/simulator/runs/disagreement.h"

namespace pace::simulator {

void Disagreement::step(controller::Rank rank) {
    const uint64_t bits = random_.next();
    for (size_t i = 0; i < kNumbers; ++i) {
        const double noise = (bits >> i & 1U) != 0 ? 1 : -1;
        models_[rank][i] += noise;
        sum_[i] += noise;
    }
}

// The model at the start of training may have a weight too. It is 0.
void Disagreement::average(std::span<const controller::Part> members) {
    Model average{};
    for (const auto& part : members)
        for (size_t i = 0; i < kNumbers; ++i) average[i] += part.weight * models_[part.rank][i];
    for (const auto& part : members) {
        for (size_t i = 0; i < kNumbers; ++i) sum_[i] += average[i] - models_[part.rank][i];
        models_[part.rank] = average;
    }
}

double Disagreement::distance(controller::Rank rank) const {
    double squares = 0;
    for (size_t i = 0; i < kNumbers; ++i) {
        const double far = models_[rank][i] - sum_[i] / static_cast<double>(models_.size());
        squares += far * far;
    }
    return squares / kNumbers;
}

}  // namespace pace::simulator
