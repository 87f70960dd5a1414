#include "service/controller/shell/dispatch/recording_relay.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

uint64_t next_ticket() {
    static uint64_t ticket = 100;
    return ++ticket;
}

class RecordingRelayTest : public testing::Test {
  protected:
    RecordingRelay relay_{next_ticket};
    base::TimePoint now_ = base::now();
};

TEST_F(RecordingRelayTest, AnAnswerReachesItsAskerOnce) {
    const uint64_t ticket = relay_.ask({.asker = 1, .request = 7, .asked = 2, .seen = 5}, now_);
    const auto question = relay_.answered(ticket, 2);
    ASSERT_TRUE(question);
    EXPECT_EQ(question->asker, 1U);
    EXPECT_EQ(question->request, 7U);
    EXPECT_EQ(question->seen, 5U);
    EXPECT_FALSE(relay_.answered(ticket, 2));
}

TEST_F(RecordingRelayTest, NobodyAnswersForAnother) {
    const uint64_t ticket = relay_.ask({.asker = 1, .request = 7, .asked = 2}, now_);
    EXPECT_FALSE(relay_.answered(ticket, 3));
    EXPECT_FALSE(relay_.answered(ticket + 1, 2));
    EXPECT_TRUE(relay_.answered(ticket, 2));
}

TEST_F(RecordingRelayTest, OneAskerTakesNotAllTheRoomAndOldQuestionsMakeSome) {
    for (size_t i = 0; i < RecordingRelay::kOfOneMax; ++i)
        EXPECT_NE(relay_.ask({.asker = 1, .request = i, .asked = 2}, now_), 0U);
    EXPECT_EQ(relay_.ask({.asker = 1, .request = 99, .asked = 2}, now_), 0U);
    EXPECT_NE(relay_.ask({.asker = 3, .request = 99, .asked = 2}, now_), 0U);
    now_ += RecordingRelay::kForgottenAfter + std::chrono::milliseconds(1);
    EXPECT_NE(relay_.ask({.asker = 1, .request = 99, .asked = 2}, now_), 0U);
}

TEST_F(RecordingRelayTest, AllAskersTogetherHaveBoundedRoom) {
    size_t kept = 0;
    for (NodeId asker = 1; asker <= 1000; ++asker)
        if (relay_.ask({.asker = asker, .request = 1, .asked = 2}, now_) != 0) ++kept;
    EXPECT_EQ(kept, RecordingRelay::kMax);
}

}  // namespace
}  // namespace pace::controller
