#include "service/controller/shell/door/doorkeeper.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using Kind = control_zmq::ConnectionEvent::Kind;
using std::chrono::seconds;

constexpr base::TimePoint kNow{seconds(100'000)};

TEST(Doorkeeper, SaysWhoDoesNotComeInAndWhy) {
    Doorkeeper keeper(true);
    EXPECT_FALSE(keeper.on_event({Kind::accepted, "10.0.0.7"}, kNow));
    const auto line = keeper.on_event({Kind::mechanism}, kNow);
    ASSERT_TRUE(line);
    EXPECT_EQ(line->from, "10.0.0.7");
    EXPECT_NE(line->because.find("has no keys"), std::string::npos);
    EXPECT_TRUE(keeper.on_event({Kind::key}, kNow));
    const auto too_many = keeper.on_event({Kind::too_many, "10.0.0.8"}, kNow);
    ASSERT_TRUE(too_many);
    EXPECT_EQ(too_many->from, "10.0.0.8");
    EXPECT_NE(too_many->because.find("connections_max"), std::string::npos);
    Doorkeeper open(false);
    EXPECT_NE(open.on_event({Kind::mechanism}, kNow)->because.find("it has keys"),
              std::string::npos);
}

TEST(Doorkeeper, SaysNothingOfThoseWhoComeIn) {
    Doorkeeper keeper(true);
    for (const Kind kind : {Kind::accepted, Kind::greeted, Kind::ended})
        EXPECT_FALSE(keeper.on_event({kind, "10.0.0.7"}, kNow));
}

TEST(Doorkeeper, SaysWhoLeftWithoutAWord) {
    Doorkeeper keeper(true);
    EXPECT_FALSE(keeper.on_event({Kind::accepted, "10.0.0.7"}, kNow));
    EXPECT_FALSE(keeper.on_event({Kind::silent}, kNow)) << "with its end comes its address";
    const auto silent = keeper.on_event({Kind::left, "10.0.0.7"}, kNow);
    ASSERT_TRUE(silent);
    EXPECT_EQ(silent->from, "10.0.0.7");
    EXPECT_EQ(silent->because, "it did not show a key in time");
    const auto left = keeper.on_event({Kind::left, "10.0.0.7"}, kNow);
    ASSERT_TRUE(left);
    EXPECT_EQ(left->because, "it left before it had said what a daemon of Pace says");
}

TEST(Doorkeeper, SaysAFailureAndTheEndAfterItOnce) {
    Doorkeeper keeper(true);
    EXPECT_TRUE(keeper.on_event({Kind::nonsense, "10.0.0.7"}, kNow));
    EXPECT_FALSE(keeper.on_event({Kind::left, "10.0.0.7"}, kNow));
    EXPECT_FALSE(keeper.on_event({Kind::refused}, kNow)) << "the authenticator says it";
    EXPECT_FALSE(keeper.on_event({Kind::left, "10.0.0.7"}, kNow));
}

TEST(Doorkeeper, SaysTheSameAgainOnlyAfterAWhile) {
    Doorkeeper keeper(true);
    EXPECT_TRUE(keeper.on_event({Kind::key}, kNow));
    for (int i = 0; i < 30; ++i) EXPECT_FALSE(keeper.on_event({Kind::key}, kNow + seconds(1)));
    const auto line = keeper.on_event({Kind::key}, kNow + seconds(10));
    ASSERT_TRUE(line);
    EXPECT_EQ(line->times, 31U);
}

}  // namespace
}  // namespace pace::controller
