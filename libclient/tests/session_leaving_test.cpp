// How a session ends, and the order in which next() returns requests.
#include <atomic>

#include <gtest/gtest.h>

#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::SubmissionEntry;

class SessionLeavingTest : public SessionFixture {};

Script counting_good_byes(std::atomic<int>& ret_count) {
    Script script;
    script.on_packet = [&](Peer&, Packet& packet) {
        if (packet.type() == wire::Body::Leave) ++ret_count;
        return false;
    };
    return script;
}

TEST_F(SessionLeavingTest, LeavesInOrderOnceAndIsOver) {
    std::atomic<int> good_byes{0};
    Script script = counting_good_byes(good_byes);
    script.on_submission = [](Peer&, const SubmissionEntry&) {};
    start(std::move(script));
    auto session = open();
    const RequestHandle request = barrier(*session);
    const CreatedBuffer buffer = make_buffer(*session);
    auto left = session->leave(base::now() + kPatience);
    ASSERT_TRUE(left) << left.error().message;
    EXPECT_TRUE(*left);
    EXPECT_EQ(session->leave(base::now() + kPatience).error().kind, ErrorKind::closed);
    EXPECT_EQ(session->submit({}).error().kind, ErrorKind::closed);
    EXPECT_EQ(session->wait(request, base::TimePoint::max(), nullptr).error().kind,
              ErrorKind::closed);
    // The session's memory stays mapped until the session is destroyed.
    static_cast<float*>(buffer.data)[0] = 1;
    session.reset();
    daemon_->settle();
    EXPECT_EQ(good_byes, 1);
}

TEST_F(SessionLeavingTest, SaysNoGoodByeWhenItIsDestroyed) {
    std::atomic<int> good_byes{0};
    start(counting_good_byes(good_byes));
    open().reset();
    daemon_->settle();
    EXPECT_EQ(good_byes, 0);
}

TEST_F(SessionLeavingTest, ADaemonThatDoesNotAnswerGoodByeHoldsNobody) {
    Script script;
    script.on_packet = [](Peer&, Packet& packet) { return packet.type() == wire::Body::Leave; };
    start(std::move(script));
    auto session = open();
    auto left = session->leave(base::now());
    ASSERT_TRUE(left) << left.error().message;
    EXPECT_FALSE(*left);
    EXPECT_EQ(session->submit({}).error().kind, ErrorKind::closed);
}

TEST_F(SessionLeavingTest, TheNextToEndComesInTheOrderOfTheEnds) {
    start(holding());
    auto session = open();
    RequestEnd end;
    EXPECT_EQ(session->next(base::TimePoint::max(), &end).error().kind, ErrorKind::not_found);
    const RequestHandle first = barrier(*session);
    const RequestHandle second = barrier(*session);
    const RequestHandle third = barrier(*session);
    auto early = session->next(base::TimePoint::min(), &end);
    ASSERT_TRUE(early);
    EXPECT_FALSE(*early);
    daemon_->with_peer([&](Peer& peer) {
        peer.complete_done(third.id);
        peer.complete_done(first.id);
    });
    for (const RequestHandle expected : {third, first}) {
        auto next = session->next(base::TimePoint::max(), &end);
        ASSERT_TRUE(next);
        ASSERT_TRUE(*next);
        EXPECT_EQ(end.handle.id, expected.id);
    }
    // A request that was waited for by name does not come again.
    daemon_->with_peer([&](Peer& peer) { peer.complete_done(second.id); });
    wait(*session, second);
    EXPECT_EQ(session->next(base::TimePoint::max(), &end).error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace pace::client::testing
