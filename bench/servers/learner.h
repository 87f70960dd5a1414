// Learner: the work of one worker in a step. It is gradient descent over the worker's samples, in
// mini-batches (Jiang et al., SIGMOD 2017, Algorithm 1, lines 3 to 6). The objective is
// l2-regularized logistic regression, or a linear support vector machine:
//
//     mean over samples of log(1 + exp(-y w·x)), or max(0, 1 - y w·x), + l2/2 |w|²
//
// A step changes only the features of its samples. So the regularizer shrinks a weight when a batch
// has its feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/sparse/wire/entries.h"
#include "data_set.h"

namespace pace::bench {

enum class Loss : uint8_t { logistic, hinge };

class Learner {
  public:
    struct Options {
        Loss loss = Loss::logistic;
        double l2 = 1e-4;
        size_t batches = 10;  // number of batches in a step
    };

    // Learns from the samples worker, worker + workers, ...
    Learner(const DataSet& data, const Options& options, size_t worker, size_t workers);

    // Makes a step: changes `model`, and returns the change.
    sparse::Entries step(std::vector<float>& model, double learning_rate);

  private:
    void take(size_t sample, const std::vector<float>& model);

    const DataSet& data_;
    Options options_;
    size_t worker_;
    size_t workers_;
    std::vector<float> gradient_;     // of a batch, by feature
    std::vector<uint32_t> in_batch_;  // the features that the batch has
    std::vector<float> update_;       // of the step, by feature
    std::vector<uint32_t> in_step_;
    std::vector<bool> seen_;  // whether the batch has the feature
    std::vector<bool> seen_in_step_;
};

// Returns the objective over the whole data set.
double objective(const DataSet& data, const Learner::Options& options,
                 const std::vector<float>& model);
// Returns the share of samples that are classified correctly.
double accuracy(const DataSet& data, const std::vector<float>& model);

}  // namespace pace::bench
