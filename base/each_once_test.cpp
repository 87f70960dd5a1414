#include "base/each_once.h"

#include <gtest/gtest.h>

namespace pace::base {
namespace {

TEST(EachOnce, SortsAndLeavesEqualValuesOnce) {
    std::vector<int> values{3, 1, 3, 2, 1};
    sort_each_once(values);
    EXPECT_EQ(values, (std::vector<int>{1, 2, 3}));
    values.clear();
    sort_each_once(values);
    EXPECT_TRUE(values.empty());
}

}  // namespace
}  // namespace pace::base
