#include "daemon/server/small_entries.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/server/tests/test_vectors.h"

namespace pace::server {
namespace {

TEST(SmallEntries, WhatIsSmallWaitsUntilItHasGrown) {
    SmallEntries small(6, 1.0F);
    const HybridVector first = small.pass(HybridVector::of(6, {{1, 4}, {0.5F, 3}}));
    EXPECT_EQ(whole(first), (std::vector<float>{0, 0, 0, 0, 3, 0}));
    const HybridVector second = small.pass(HybridVector::of(6, {{1}, {0.75F}}));
    EXPECT_EQ(whole(second), (std::vector<float>{0, 1.25F, 0, 0, 0, 0}));
    EXPECT_EQ(small.waiting().size(), 0U);
}

TEST(SmallEntries, WithoutAFilterAllIsSent) {
    SmallEntries small(3, 0.0F);
    EXPECT_EQ(whole(small.pass(HybridVector::of(std::vector<float>{1e-30F, 0, 0}))),
              (std::vector<float>{1e-30F, 0, 0}));
}

// Uses eighths, which floats add exactly.
TEST(SmallEntries, NothingIsLost) {
    base::Random random(9);
    for (const double share : {0.02, 0.9}) {
        constexpr size_t kLength = 500;
        SmallEntries small(kLength, 0.5F);
        std::vector<float> given(kLength, 0.0F);
        std::vector<float> sent(kLength, 0.0F);
        for (int push = 0; push < 40; ++push) {
            std::vector<float> update(kLength, 0.0F);
            for (size_t i = 0; i < kLength; ++i) {
                if (random.uniform() >= share) continue;
                update[i] = static_cast<float>(random.below(13)) / 8.0F - 0.75F;
                given[i] += update[i];
            }
            const std::vector<float> passed = whole(small.pass(HybridVector::of(update)));
            for (size_t i = 0; i < kLength; ++i) {
                ASSERT_TRUE(passed[i] == 0.0F || std::abs(passed[i]) >= 0.5F);
                sent[i] += passed[i];
            }
        }
        small.waiting().add_to(sent, 1.0);
        EXPECT_EQ(sent, given);
    }
}

TEST(SmallEntries, WhatIsNoNumberIsSent) {
    SmallEntries small(4, 1.0F);
    const auto passed = small.pass(HybridVector::of(4, {{2}, {NAN}}));
    EXPECT_TRUE(std::isnan(whole(passed)[2]));
}

}  // namespace
}  // namespace pace::server
