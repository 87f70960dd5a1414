#include "network.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace demo {
namespace {

// The places of the four parts in a run of floats: both layers' weights and biases, one after
// another.
template <typename Scalar>
struct Layers {
    template <typename Plain>
    using Part = Eigen::Map<std::conditional_t<std::is_const_v<Scalar>, const Plain, Plain>>;

    Layers(std::span<Scalar> run, int hidden)
        : weights_1(run.data(), hidden, kPixels),
          bias_1(weights_1.data() + weights_1.size(), hidden),
          weights_2(bias_1.data() + bias_1.size(), kClasses, hidden),
          bias_2(weights_2.data() + weights_2.size(), kClasses) {}

    Part<Eigen::MatrixXf> weights_1;
    Part<Eigen::VectorXf> bias_1;
    Part<Eigen::MatrixXf> weights_2;
    Part<Eigen::VectorXf> bias_2;
};

}  // namespace

size_t Network::parameter_count() const {
    const auto hidden = static_cast<size_t>(hidden_);
    return hidden * kPixels + hidden + kClasses * hidden + kClasses;
}

void Network::initialize(std::span<float> parameters, uint64_t seed) const {
    Layers<float> layers(parameters, hidden_);
    std::mt19937_64 random(seed);
    const auto draw = [&random](int inputs) {
        std::normal_distribution<float> normal(0.0F, std::sqrt(2.0F / static_cast<float>(inputs)));
        return [&random, normal]() mutable { return normal(random); };
    };
    std::generate_n(layers.weights_1.data(), layers.weights_1.size(), draw(kPixels));
    std::generate_n(layers.weights_2.data(), layers.weights_2.size(), draw(hidden_));
    layers.bias_1.setZero();
    layers.bias_2.setZero();
}

void Network::forward(std::span<const float> parameters, const Images& images) {
    const Layers<const float> layers(parameters, hidden_);
    activations_.noalias() = layers.weights_1 * images;
    activations_.colwise() += layers.bias_1;
    activations_ = activations_.cwiseMax(0.0F);
    outputs_.noalias() = layers.weights_2 * activations_;
    outputs_.colwise() += layers.bias_2;
}

float Network::gradient(std::span<const float> parameters, const Images& images,
                        const Labels& labels, std::span<float> ret_gradient) {
    forward(parameters, images);

    // Softmax, shifted by each column's largest score so that no exponential overflows.
    outputs_.rowwise() -= outputs_.colwise().maxCoeff().eval();
    outputs_ = outputs_.array().exp();
    outputs_.array().rowwise() /= outputs_.colwise().sum().array().eval();

    // The derivative of the cross-entropy after a softmax is probability minus truth.
    const float share = 1.0F / static_cast<float>(labels.size());
    float loss = 0;
    for (Eigen::Index column = 0; column < outputs_.cols(); ++column) {
        float& probability = outputs_(labels[static_cast<size_t>(column)], column);
        loss -= std::log(std::max(probability, 1e-30F)) * share;
        probability -= 1.0F;
    }
    outputs_ *= share;

    const Layers<const float> layers(parameters, hidden_);
    Layers<float> slopes(ret_gradient, hidden_);
    slopes.weights_2.noalias() = outputs_ * activations_.transpose();
    slopes.bias_2 = outputs_.rowwise().sum();
    errors_.noalias() = layers.weights_2.transpose() * outputs_;
    errors_ = (activations_.array() > 0.0F).select(errors_, 0.0F);
    slopes.weights_1.noalias() = errors_ * images.transpose();
    slopes.bias_1 = errors_.rowwise().sum();
    return loss;
}

size_t Network::count_correct(std::span<const float> parameters, const Images& images,
                              std::span<const uint8_t> labels) {
    forward(parameters, images);
    size_t correct = 0;
    for (Eigen::Index column = 0; column < outputs_.cols(); ++column) {
        Eigen::Index best = 0;
        outputs_.col(column).maxCoeff(&best);
        if (best == labels[static_cast<size_t>(column)]) ++correct;
    }
    return correct;
}

double accuracy_of(Network* network, std::span<const float> parameters, const Dataset& data) {
    constexpr size_t kChunk = 500;  // keeps the activations in the cache
    Images images;
    size_t correct = 0;
    for (size_t first = 0; first < data.size(); first += kChunk) {
        const size_t count = std::min(kChunk, data.size() - first);
        images.resize(Eigen::NoChange, static_cast<Eigen::Index>(count));
        copy_images(data, first, &images);
        correct += network->count_correct(parameters, images,
                                          std::span(data.labels).subspan(first, count));
    }
    return static_cast<double>(correct) / static_cast<double>(data.size());
}

}  // namespace demo
