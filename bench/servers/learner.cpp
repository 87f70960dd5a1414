#include "learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pace::bench {

namespace {

double margin(const DataSet& data, size_t sample, const std::vector<float>& model) {
    double sum = 0;
    for (uint64_t i = data.begins[sample]; i < data.begins[sample + 1]; ++i)
        sum += static_cast<double>(data.values[i]) * static_cast<double>(model[data.indices[i]]);
    return sum * data.labels[sample];
}

double loss_of(Loss loss, double margin) {
    if (loss == Loss::hinge) return std::max(0.0, 1 - margin);
    // This does not overflow on either side.
    return margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
}

double slope_of(Loss loss, double margin) {
    if (loss == Loss::hinge) return margin < 1 ? -1.0 : 0.0;
    return -1 / (1 + std::exp(margin));
}

}  // namespace

Learner::Learner(const DataSet& data, const Options& options, size_t worker, size_t workers)
    : data_(data),
      options_(options),
      worker_(worker),
      workers_(workers),
      gradient_(data.features, 0.0F),
      update_(data.features, 0.0F),
      seen_(data.features, false),
      seen_in_step_(data.features, false) {}

void Learner::take(size_t sample, const std::vector<float>& model) {
    const double slope =
        slope_of(options_.loss, margin(data_, sample, model)) * data_.labels[sample];
    for (uint64_t i = data_.begins[sample]; i < data_.begins[sample + 1]; ++i) {
        const uint32_t feature = data_.indices[i];
        if (!seen_[feature]) {
            seen_[feature] = true;
            in_batch_.push_back(feature);
        }
        gradient_[feature] += static_cast<float>(slope) * data_.values[i];
    }
}

sparse::Entries Learner::step(std::vector<float>& model, double learning_rate) {
    const size_t own = (data_.samples() - worker_ + workers_ - 1) / workers_;
    for (size_t batch = 0; batch < options_.batches; ++batch) {
        const size_t begin = own * batch / options_.batches;
        const size_t end = own * (batch + 1) / options_.batches;
        if (begin == end) continue;
        for (size_t i = begin; i < end; ++i) take(worker_ + i * workers_, model);
        const auto size = static_cast<double>(end - begin);
        for (const uint32_t feature : in_batch_) {
            const double gradient = static_cast<double>(gradient_[feature]) / size +
                                    options_.l2 * static_cast<double>(model[feature]);
            const auto change = static_cast<float>(-learning_rate * gradient);
            model[feature] += change;
            update_[feature] += change;
            gradient_[feature] = 0;
            seen_[feature] = false;
            if (!seen_in_step_[feature]) {
                seen_in_step_[feature] = true;
                in_step_.push_back(feature);
            }
        }
        in_batch_.clear();
    }
    std::sort(in_step_.begin(), in_step_.end());
    sparse::Entries entries;
    for (const uint32_t feature : in_step_) {
        entries.push_back(feature, update_[feature]);
        update_[feature] = 0;
        seen_in_step_[feature] = false;
    }
    in_step_.clear();
    return entries;
}

double objective(const DataSet& data, const Learner::Options& options,
                 const std::vector<float>& model) {
    double loss = 0;
    for (size_t sample = 0; sample < data.samples(); ++sample)
        loss += loss_of(options.loss, margin(data, sample, model));
    double squares = 0;
    for (const float weight : model)
        squares += static_cast<double>(weight) * static_cast<double>(weight);
    return loss / static_cast<double>(data.samples()) + options.l2 / 2 * squares;
}

double accuracy(const DataSet& data, const std::vector<float>& model) {
    size_t right = 0;
    for (size_t sample = 0; sample < data.samples(); ++sample)
        if (margin(data, sample, model) > 0) ++right;
    return static_cast<double>(right) / static_cast<double>(data.samples());
}

}  // namespace pace::bench
