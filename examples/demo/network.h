// Network: a multilayer perceptron, 784 pixels to `hidden` rectified units to 10 classes, trained on
// the mean cross-entropy. It holds no parameters: they lie where the caller says, in one run of
// floats (for a worker, the buffer that Pace averages), and Eigen works on them in place.
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

    // He initialization of the weights; zero biases. The same seed gives the same parameters.
    void initialize(std::span<float> parameters, uint64_t seed) const;

    // Returns the mean cross-entropy of a batch, and writes its gradient.
    float gradient(std::span<const float> parameters, const Images& images, const Labels& labels,
                   std::span<float> ret_gradient);

    // How many of the images get the right label.
    size_t count_correct(std::span<const float> parameters, const Images& images,
                         std::span<const uint8_t> labels);

  private:
    void forward(std::span<const float> parameters, const Images& images);

    int hidden_;
    Eigen::MatrixXf activations_;  // hidden × batch
    Eigen::MatrixXf outputs_;  // classes × batch: scores, then probabilities, then their errors
    Eigen::MatrixXf errors_;   // hidden × batch
};

// The share of the data set's labels that the parameters get right.
double accuracy_of(Network* network, std::span<const float> parameters, const Dataset& data);

}  // namespace demo
