#include "protocol/version.h"

#include <gtest/gtest.h>

namespace pace::protocol {
namespace {

TEST(Versions, TwoSidesSpeakTheNewestThatBothKnow) {
    EXPECT_EQ(common_version({8, 9}, {8, 8}), 8U);
    EXPECT_EQ(common_version({8, 8}, {8, 9}), 8U);
    EXPECT_EQ(common_version({8, 9}, {9, 10}), 9U);
    EXPECT_EQ(common_version({8, 9}, {10, 11}), std::nullopt);
    EXPECT_EQ(common_version({10, 11}, {8, 9}), std::nullopt);
}

TEST(Versions, OfBeforeThereWereRangesAreOne) {
    EXPECT_EQ(told_versions(7, 0).least, 7U);
    EXPECT_EQ(common_version({8, 9}, told_versions(7, 0)), std::nullopt);
    EXPECT_EQ(common_version({8, 9}, told_versions(9, 0)), 9U);
    // A nonsensical `least` is ignored.
    EXPECT_EQ(told_versions(9, 4'000'000'000U).least, 9U);
}

TEST(Versions, InWords) {
    EXPECT_EQ(in_words({8, 8}), "8");
    EXPECT_EQ(in_words({8, 9}), "8 to 9");
}

}  // namespace
}  // namespace pace::protocol
