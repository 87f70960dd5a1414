#include "network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace demo {
namespace {

class NetworkTest : public testing::Test {
  protected:
    NetworkTest() : network_(8), parameters_(network_.parameter_count()) {
        network_.initialize(parameters_, 7);
        std::srand(7);
        images_ = Images::Random(kPixels, 5);
    }

    Network network_;
    std::vector<float> parameters_;
    Images images_;
    const Labels labels_ = {3, 1, 4, 1, 9};
};

// The slope of the loss along one parameter is computed by central differences.
TEST_F(NetworkTest, GradientEqualsTheSlopeOfTheLoss) {
    std::vector<float> gradient(parameters_.size());
    std::vector<float> unused(parameters_.size());
    network_.gradient(parameters_, images_, labels_, gradient);
    constexpr float kStep = 1e-2F;
    // The parts begin at 0, 6272, 6280 and 6360 (hidden = 8). The test takes some parameters of
    // each part.
    for (const size_t i :
         {0U, 100U, 3000U, 6271U, 6272U, 6279U, 6280U, 6300U, 6359U, 6360U, 6369U}) {
        const float original = parameters_[i];
        parameters_[i] = original + kStep;
        const float above = network_.gradient(parameters_, images_, labels_, unused);
        parameters_[i] = original - kStep;
        const float below = network_.gradient(parameters_, images_, labels_, unused);
        parameters_[i] = original;
        EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 2e-3) << "parameter " << i;
    }
}

TEST_F(NetworkTest, LearnsAFewExamplesByHeart) {
    std::vector<float> gradient(parameters_.size());
    const float first_loss = network_.gradient(parameters_, images_, labels_, gradient);
    float loss = first_loss;
    for (int step = 0; step < 300; ++step) {
        for (size_t i = 0; i < gradient.size(); ++i) parameters_[i] -= 0.02F * gradient[i];
        loss = network_.gradient(parameters_, images_, labels_, gradient);
    }
    EXPECT_LT(loss, first_loss / 10);
    EXPECT_EQ(network_.count_correct(parameters_, images_, labels_), labels_.size());
}

TEST_F(NetworkTest, SurvivesScoresWhoseExponentialsOverflow) {
    for (float& parameter : parameters_) parameter *= 1000;
    std::vector<float> gradient(parameters_.size());
    EXPECT_TRUE(std::isfinite(network_.gradient(parameters_, images_, labels_, gradient)));
    for (const float slope : gradient) ASSERT_TRUE(std::isfinite(slope));
}

}  // namespace
}  // namespace demo
