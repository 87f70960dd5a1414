#include "libclient/link/spin.h"

#include <gtest/gtest.h>

namespace pace::client {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Spin, SpinsALittleLongerThanShortWaitsTake) {
    Spin spin;
    for (int i = 0; i < 50; ++i) spin.learn(microseconds(20));
    EXPECT_GE(spin.budget(), microseconds(20));
    EXPECT_LE(spin.budget(), microseconds(45));
}

TEST(Spin, HardlySpinsWhereWaitsAreLong) {
    Spin spin;
    for (int i = 0; i < 50; ++i) spin.learn(milliseconds(30));
    EXPECT_EQ(spin.budget(), kSpinMin);
}

TEST(Spin, ComesBackAfterAFewShortWaits) {
    Spin spin;
    for (int i = 0; i < 50; ++i) spin.learn(milliseconds(30));
    for (int i = 0; i < 8; ++i) spin.learn(microseconds(20));
    EXPECT_GE(spin.budget(), microseconds(20));
}

}  // namespace
}  // namespace pace::client
