#include "service/controller/core/groups/spectral_gap.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "base/random.h"
#include "service/controller/policies/partial_reduce.h"

namespace pace::controller {
namespace {

using RankGroups = std::vector<std::vector<Rank>>;

// Every group of `size` out of `workers`, once each.
RankGroups all_groups(uint32_t workers, uint32_t size) {
    RankGroups groups;
    for (uint32_t bits = 0; bits < (1U << workers); ++bits) {
        std::vector<Rank> group;
        for (Rank r = 0; r < workers; ++r) {
            if ((bits >> r & 1U) != 0) group.push_back(r);
        }
        if (group.size() == size) groups.push_back(group);
    }
    return groups;
}

TEST(SpectralGap, AgreesWithTheWorkedValuesOfUniformGroups) {
    EXPECT_NEAR(spectral_gap(3, all_groups(3, 2)), 1.0 / 2, 1e-9);
    EXPECT_NEAR(spectral_gap(4, all_groups(4, 2)), 2.0 / 3, 1e-9);
    EXPECT_NEAR(spectral_gap(8, all_groups(8, 3)), 5.0 / 7, 1e-9);
    EXPECT_NEAR(spectral_gap(16, all_groups(16, 3)), 13.0 / 15, 1e-9);
}

TEST(SpectralGap, FollowsTheFormulaForEveryWorldAndGroupSize) {
    for (uint32_t n = 2; n <= 11; ++n) {
        for (uint32_t p = 2; p <= n; ++p) {
            EXPECT_NEAR(spectral_gap(n, all_groups(n, p)), (n - p) / static_cast<double>(n - 1),
                        1e-9);
        }
    }
}

TEST(SpectralGap, IsThePapersFigureForOneWorkerAtHalfSpeed) {
    EXPECT_NEAR(spectral_gap(3, {{0, 1}, {0, 1}, {0, 2}, {1, 2}}), 0.625, 1e-9);
}

TEST(SpectralGap, IsOneForGroupsThatNeverMeetAndZeroForAll) {
    EXPECT_NEAR(spectral_gap(4, {{0, 1}, {2, 3}}), 1, 1e-9);
    EXPECT_EQ(spectral_gap(5, {{0, 1, 2, 3, 4}}), 0);
    EXPECT_EQ(spectral_gap(1, {{0}}), 0);
    EXPECT_EQ(spectral_gap(7, {}), 0);
}

// The second largest eigenvalue of E[W] as a matrix, by Jacobi's rotations: slow and obvious.
double slowly(uint32_t n, const RankGroups& groups) {
    std::vector<std::vector<double>> a(n, std::vector<double>(n, 0));
    for (uint32_t i = 0; i < n; ++i) a[i][i] = 1;
    for (const auto& group : groups) {
        const double share = 1.0 / static_cast<double>(groups.size());
        for (const Rank i : group) {
            a[i][i] -= share;
            for (const Rank j : group) a[i][j] += share / static_cast<double>(group.size());
        }
    }
    for (int sweep = 0; sweep < 30; ++sweep) {
        for (uint32_t p = 0; p < n; ++p) {
            for (uint32_t q = p + 1; q < n; ++q) {
                const double angle = std::atan2(2 * a[p][q], a[q][q] - a[p][p]) / 2;
                const double c = std::cos(angle);
                const double s = std::sin(angle);
                for (uint32_t k = 0; k < n; ++k) {
                    const double kp = a[k][p];
                    a[k][p] = c * kp - s * a[k][q];
                    a[k][q] = s * kp + c * a[k][q];
                }
                for (uint32_t k = 0; k < n; ++k) {
                    const double pk = a[p][k];
                    a[p][k] = c * pk - s * a[q][k];
                    a[q][k] = s * pk + c * a[q][k];
                }
            }
        }
    }
    std::vector<double> values;
    for (uint32_t i = 0; i < n; ++i) values.push_back(a[i][i]);
    std::sort(values.begin(), values.end());
    return values[n - 2];
}

TEST(SpectralGap, AgreesWithTheMatrixForRandomGroups) {
    base::Random random(4);
    for (int round = 0; round < 200; ++round) {
        const auto n = static_cast<uint32_t>(2 + random.below(16));
        RankGroups groups(1 + random.below(3 * n));
        for (auto& group : groups) {
            for (Rank rank = 0; rank < n; ++rank) {
                if (random.below(n) < 3) group.push_back(rank);
            }
            if (group.empty()) group.push_back(0);
        }
        ASSERT_NEAR(spectral_gap(n, groups), slowly(n, groups), 1e-9) << "round " << round;
    }
}

// Neighbours on a ring mix worst: lambda_2 = 1 - (1 - cos(2 pi / n)) / n.
TEST(SpectralGap, FindsTheSlowestModeOfALongRing) {
    for (const uint32_t n : {10U, 100U, 300U}) {
        RankGroups groups;
        for (Rank rank = 0; rank < n; ++rank) groups.push_back({rank, (rank + 1) % n});
        EXPECT_NEAR(spectral_gap(n, groups), 1 - (1 - std::cos(2 * std::numbers::pi / n)) / n,
                    1e-10)
            << n;
    }
}

TEST(SpectralGap, OfTenThousandWorkersIsNearTheFigureOfUniformGroups) {
    base::Random random(5);
    constexpr uint32_t kWorkers = 10'000;
    RankGroups groups;
    for (uint32_t g = 0; g < 30 * kWorkers; ++g) {
        std::vector<Rank> group;
        for (int i = 0; i < 3; ++i) group.push_back(static_cast<Rank>(random.below(kWorkers)));
        std::sort(group.begin(), group.end());
        group.erase(std::unique(group.begin(), group.end()), group.end());
        groups.push_back(std::move(group));
    }
    // A worker is in about 90 of these groups; workers in the fewest mix the slowest.
    const double loss = 1 - spectral_gap(kWorkers, groups, 20'000'000);
    const double loss_uniform = 2.0 / (kWorkers - 1);
    EXPECT_GT(loss, 0.4 * loss_uniform);
    EXPECT_LT(loss, loss_uniform);
}

// The paper's Figure 4(b), through the policy: two workers step in one unit, the third in two, and
// exchange is instant. Signals that arrive together arrive in either order, so that over a long run
// the pairs have probabilities 1/2, 1/4 and 1/4.
TEST(SpectralGap, OfThreeWorkersOneAtHalfSpeedComesOutOfThePolicy) {
    RankGroups groups;
    JobOptions options;
    options.world = 3;
    options.group_size = options.group_min = 2;
    options.history_window = 4;
    options.group_wait_ms = 1'000'000;
    PartialReduce policy(options);
    TimePoint now{};
    for (Rank r = 0; r < 3; ++r) policy.add_member(r, 1, now);
    std::vector<Signal> signals;
    const auto signal = [&](Rank rank) {
        policy.add_signal(Signal{rank, 1, 0, now});
        while (policy.next_group(now, signals)) {
            groups.push_back({signals[0].rank, signals[1].rank});
            for (const Signal& s : signals) policy.release(s.rank, now);
        }
    };
    // The cycle of the figure: the fast pair meets twice while the slow worker meets each of them
    // once.
    for (int cycle = 0; cycle < 50; ++cycle) {
        for (const auto& [first, second] :
             std::vector<std::pair<Rank, Rank>>{{0, 1}, {2, 0}, {1, 0}, {2, 1}}) {
            now += std::chrono::milliseconds(1);
            signal(first);
            signal(second);
        }
    }
    EXPECT_EQ(groups.size(), 200U);
    EXPECT_NEAR(spectral_gap(3, groups), 0.625, 1e-9);
}

}  // namespace
}  // namespace pace::controller
