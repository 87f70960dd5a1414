#include "service/controller/core/spectral_gap.h"

#include <gtest/gtest.h>

#include "service/controller/policies/partial_reduce.h"

namespace pace::controller {
namespace {

using Groups = std::vector<std::vector<Rank>>;

// Every group of `size` out of `workers`, once each.
Groups all_groups(uint32_t workers, uint32_t size) {
    Groups groups;
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

// The paper's Figure 4(b), through the policy itself: two workers step in one unit, the third in
// two, exchange is instant. Signals that arrive together arrive in either order, so that over a
// long run the pairs come with probability 1/2, 1/4 and 1/4.
TEST(SpectralGap, OfThreeWorkersOneAtHalfSpeedComesOutOfThePolicy) {
    Groups groups;
    JobOptions options;
    options.world = 3;
    options.group_size = options.group_min = 2;
    options.history_window = 4;
    options.group_wait_ms = 1'000'000;
    PartialReduce policy(options);
    TimePoint now{};
    for (Rank r = 0; r < 3; ++r) policy.add_member(r, now);
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
