#include "daemon/server/hybrid_vector.h"

#include <algorithm>
#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "daemon/server/tests/test_vectors.h"

namespace pace::server {
namespace {

TEST(HybridVector, HalfFullIsKeptWholeAndLessAsEntries) {
    EXPECT_TRUE(HybridVector::of(std::vector<float>{1, 0, 2, 0}).is_dense());
    const HybridVector sparse = HybridVector::of(std::vector<float>{0, 0, 2, 0});
    EXPECT_FALSE(sparse.is_dense());
    EXPECT_EQ(sparse.entries().indices, base::LargeVector<uint32_t>{2});
    EXPECT_EQ(sparse.bytes(), 8U);
    EXPECT_TRUE(HybridVector::of(4, {{0, 3}, {1, 2}}).is_dense());
    EXPECT_FALSE(HybridVector(0).is_dense());
}

TEST(HybridVector, ASumBecomesWholeWhenHalfOfItIsThere) {
    HybridVector sum(8);
    sum.add(HybridVector::of(8, {{1, 2}, {1, 1}}));
    sum.add(HybridVector::of(8, {{2, 3}, {1, 1}}));
    sum.settle();
    EXPECT_FALSE(sum.is_dense());
    sum.add(HybridVector::of(8, {{7}, {5}}));
    sum.settle();
    EXPECT_TRUE(sum.is_dense());
    EXPECT_EQ(whole(sum), (std::vector<float>{0, 1, 2, 1, 0, 0, 0, 5}));
}

// Sums of sparse and dense addends, in any order, have the bits of a plain loop.
TEST(HybridVector, SumsHaveTheBitsOfAPlainLoop) {
    base::Random random(3);
    for (int round = 0; round < 200; ++round) {
        const size_t length = 1 + random.below(20000);
        std::vector<float> expected(length, 0.0F);
        HybridVector sum(length);
        const uint64_t addends = 1 + random.below(12);
        for (uint64_t i = 0; i < addends; ++i) {
            const double share = random.below(8) == 0 ? 0.8 : random.uniform() * 0.1;
            const std::vector<float> addend = drawn(length, share, random);
            for (size_t k = 0; k < length; ++k) expected[k] += addend[k];
            sum.add(HybridVector::of(addend));
            if (random.below(3) == 0) sum.settle();
        }
        const std::vector<float> got = whole(sum);
        ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin())) << "round " << round;
    }
}

TEST(HybridVector, ARangeIsAddedWithItsRate) {
    base::Random random(4);
    for (const double share : {0.1, 0.9}) {
        const std::vector<float> elements = drawn(1000, share, random);
        const HybridVector vector = HybridVector::of(elements);
        std::vector<float> out(300, 2.0F);
        vector.add_to(out, 0.3, 117);
        for (size_t i = 0; i < out.size(); ++i) {
            const float product = 0.3F * elements[117 + i];
            ASSERT_EQ(out[i], 2.0F + product) << i;
        }
    }
}

TEST(HybridVector, AddingWhatIsNotPutTogetherYetAddsAllOfIt) {
    HybridVector parts(100);
    parts.add(HybridVector::of(100, {{1, 5}, {1, 2}}));
    parts.add(HybridVector::of(100, {{5}, {4}}));
    HybridVector sum(100);
    sum.add(parts);
    EXPECT_EQ(whole(sum)[5], 6.0F);
    HybridVector dense = HybridVector::of(std::vector<float>(100, 1.0F));
    dense.add(parts);
    EXPECT_EQ(whole(dense)[5], 7.0F);
}

}  // namespace
}  // namespace pace::server
