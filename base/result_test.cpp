#include "base/result.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace pace::base {
namespace {

Result<int> half_of(int value) {
    if (value % 2 != 0)
        return make_error(ErrorKind::invalid, "{} is odd; give an even number", value);
    return value / 2;
}

Result<int> quarter_of(int value) {
    PACE_TRY_ASSIGN(half, half_of(value));
    return half_of(half);
}

Result<> only_even(int value) {
    PACE_TRY(half_of(value));
    return {};
}

TEST(Result, CarriesAValueOrAnErrorThroughEveryCaller) {
    EXPECT_EQ(*quarter_of(12), 3);
    EXPECT_EQ(quarter_of(6).error().message, "3 is odd; give an even number");
    EXPECT_TRUE(only_even(4));
    EXPECT_EQ(only_even(5).error().kind, ErrorKind::invalid);
}

TEST(Result, MapsErrnoToWhoMustAct) {
    EXPECT_EQ(make_errno_error(ENOSPC, "write journal").kind, ErrorKind::disk);
    EXPECT_EQ(make_errno_error(EACCES, "open socket").kind, ErrorKind::denied);
    EXPECT_EQ(make_errno_error(ENOENT, "open x").message, "open x: No such file or directory");
}

}  // namespace
}  // namespace pace::base
