// Network: a multilayer perceptron from 784 pixels over `hidden` rectified units to 10 classes. It
// is trained on the mean cross-entropy. The Network holds no parameters. The caller keeps them in
// one run of floats, and Eigen works on them in place. For a worker this is the buffer that Pace
// averages.
#pragma once

#include <span>

#include <Eigen/Core>

#include "dataset.h"

namespace demo {

class Network {
  public:
    explicit Network(int hidden) : hidden_(hidden) {}

    // Weights and biases of both layers.
    size_t parameter_count() const;

    // Sets the weights by He initialization, and zero biases. The same seed gives the same
    // parameters.
    void initialize(std::span<float> parameters, uint64_t seed) const;

    // Returns the mean cross-entropy of a batch, and writes its gradient.
    float gradient(std::span<const float> parameters, const Images& images, const Labels& labels,
                   std::span<float> ret_gradient);

    // Returns how many of the images get the right label.
    size_t count_correct(std::span<const float> parameters, const Images& images,
                         std::span<const uint8_t> labels);

  private:
    void forward(std::span<const float> parameters, const Images& images);

    int hidden_;
    Eigen::MatrixXf activations_;  // hidden × batch
    // classes × batch: first scores, then probabilities, then their errors.
    Eigen::MatrixXf outputs_;
    Eigen::MatrixXf errors_;  // hidden × batch
};

// Returns the share of the data set's labels that the parameters predict correctly.
double accuracy_of(Network* network, std::span<const float> parameters, const Dataset& data);

}  // namespace demo
