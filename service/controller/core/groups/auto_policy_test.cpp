#include "service/controller/core/groups/auto_policy.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;

// Workers with random step times and exchanges of 2 ms. The policy is told about steps as they
// would come, without any worker waiting for another.
class Bench {
  public:
    Bench(uint32_t world, double cv, uint64_t seed)
        : chosen_(world), slow_(world, 1), left_(world), cv_(cv), random_(seed) {
        for (Rank rank = 0; rank < world; ++rank) {
            present_.push_back({rank, rank / 4 + 1, {}});
            left_[rank] = step_of(rank);
        }
    }

    void slow(Rank rank, double factor) { slow_[rank] = factor; }

    // Simulates `steps` steps of 50 ms.
    void run(int steps) {
        const double end = now_ms_ + 50.0 * steps;
        while (now_ms_ < end) {
            const auto first = std::min_element(left_.begin(), left_.end());
            const auto rank = static_cast<Rank>(first - left_.begin());
            now_ms_ = *first;
            chosen_.on_step(rank, to_duration(last_step_[rank]));
            chosen_.on_exchange(milliseconds(2), milliseconds(1));
            *first += step_of(rank);
            if (chosen_.is_due(present_.size())) evaluate();
        }
    }

    const AutoPolicy& chosen() const { return chosen_; }

  private:
    static Duration to_duration(double ms) { return Duration(static_cast<int64_t>(ms * 1e6)); }

    void evaluate() {
        for (AutoPolicy::Present& worker : present_)
            worker.computing =
                to_duration(last_step_[worker.rank] - (left_[worker.rank] - now_ms_));
        chosen_.evaluate(present_);
    }

    // Log-normal, with mean 50 ms.
    double step_of(Rank rank) {
        const double sigma = std::sqrt(std::log(1 + cv_ * cv_));
        const double normal = std::sqrt(-2 * std::log(1 - random_.uniform())) *
                              std::cos(2 * M_PI * random_.uniform());
        last_step_.resize(left_.size());
        last_step_[rank] = 50 * slow_[rank] * std::exp(sigma * normal - sigma * sigma / 2);
        return last_step_[rank] + 2;
    }

    AutoPolicy chosen_;
    std::vector<double> slow_;
    std::vector<double> left_;  // time of each worker's next signal
    double cv_;
    base::Random random_;
    std::vector<AutoPolicy::Present> present_;
    std::vector<double> last_step_;
    double now_ms_ = 0;
};

TEST(AutoPolicy, BeginsWithPartialReduceOfThree) {
    EXPECT_EQ(AutoPolicy(16).shape(), (Shape{Policy::partial_reduce, 3}));
    EXPECT_EQ(AutoPolicy(2).shape(), (Shape{Policy::partial_reduce, 2}));
    EXPECT_EQ(AutoPolicy(1).shape(), (Shape{Policy::partial_reduce, 2}));
    EXPECT_NE(AutoPolicy(16).reason(), "");
}

TEST(AutoPolicy, ChangesToFullAmongEqualsAndSaysWhy) {
    Bench bench(16, 0.02, 1);
    bench.run(30);
    EXPECT_EQ(bench.chosen().shape().policy, Policy::full);
    EXPECT_EQ(bench.chosen().switches(), 1U);
    const std::string& reason = bench.chosen().reason();
    EXPECT_TRUE(reason.starts_with("instead of partial-reduce of 3: workers' steps differ 1."))
        << reason;
    EXPECT_NE(reason.find("partial-reduce of 3 would make about "), std::string::npos) << reason;
    EXPECT_NE(reason.find("; this makes about "), std::string::npos) << reason;
}

TEST(AutoPolicy, LeavesFullWhenAWorkerBecomesSlowAndComesBackWhenItRecovers) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        Bench bench(16, 0.05, seed);
        bench.run(60);
        ASSERT_EQ(bench.chosen().shape().policy, Policy::full);
        bench.slow(15, 5);
        bench.run(150);
        EXPECT_EQ(bench.chosen().shape().policy, Policy::partial_reduce) << bench.chosen().reason();
        bench.slow(15, 1);
        bench.run(200);
        EXPECT_EQ(bench.chosen().shape().policy, Policy::full) << bench.chosen().reason();
        EXPECT_LE(bench.chosen().switches(), 4U);
    }
}

TEST(AutoPolicy, WaitsForAWorkerWhoseFirstStepIsNotOver) {
    Bench bench(16, 0.02, 1);
    bench.slow(15, 100);
    bench.run(90);  // 90 of a hundred
    EXPECT_NE(bench.chosen().shape().policy, Policy::full);
}

// Over thousands of groups, with any noise, the first change is the last.
TEST(AutoPolicy, NeverChangesTwiceWhileSpeedsStayAsTheyAre) {
    for (const double cv : {0.02, 0.1, 0.3, 0.6, 1.0}) {
        for (const double slowest : {1.0, 1.5, 2.0, 5.0}) {
            for (uint64_t seed = 1; seed <= 5; ++seed) {
                SCOPED_TRACE(::testing::Message()
                             << "cv " << cv << ", slowest " << slowest << ", seed " << seed);
                Bench bench(16, cv, seed);
                bench.slow(15, slowest);
                bench.run(1500);
                EXPECT_LE(bench.chosen().switches(), 1U) << bench.chosen().reason();
            }
        }
    }
}

TEST(AutoPolicy, OfOneWorkerThinksOfNothing) {
    AutoPolicy chosen(1);
    for (int i = 0; i < 100; ++i) chosen.on_step(0, milliseconds(5));
    EXPECT_FALSE(chosen.evaluate({{0, 1, {}}}));
    EXPECT_EQ(chosen.switches(), 0U);
}

}  // namespace
}  // namespace pace::controller
