// A daemon that dies at any step of a session's life, and the session's recovery.
#include <fcntl.h>
#include <poll.h>

#include <array>
#include <chrono>

#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::SubmissionEntry;
using std::chrono::milliseconds;

class SessionDeathTest : public SessionFixture {};

// The daemon dies instead of answering the first message of this type.
Script dying_at(wire::Body step) {
    Script script;
    script.on_packet = [step](Peer& peer, Packet& packet) {
        if (packet.type() != step) return false;
        peer.close();
        return true;
    };
    return script;
}

TEST_F(SessionDeathTest, DeathDuringBufferCallsIsToldAndTheNextCallReconnects) {
    start(dying_at(wire::Body::BufferCreate));
    auto session = open();
    auto buffer = session->create_buffer(protocol::DType::f32, 8);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().kind, ErrorKind::unavailable);
    daemon_->restart({});
    EXPECT_NE(make_buffer(*session).data, nullptr);
}

TEST_F(SessionDeathTest, FreeingABufferNeedsNoDaemon) {
    start(dying_at(wire::Body::BufferFree));
    auto session = open();
    const BufferHandle first = make_buffer(*session).handle;
    const BufferHandle second = make_buffer(*session).handle;
    EXPECT_TRUE(session->free_buffer(first));
    EXPECT_FALSE(session->free_buffer(first));
    daemon_->kill();
    EXPECT_TRUE(session->free_buffer(second));
}

TEST_F(SessionDeathTest, LeavingWithoutDaemonFailsAtOnce) {
    start(dying_at(wire::Body::Leave));
    auto session = open();
    EXPECT_EQ(session->leave(base::TimePoint::max()).error().kind, ErrorKind::unavailable);
    EXPECT_EQ(session->leave(base::TimePoint::max()).error().kind, ErrorKind::closed);
    daemon_->restart({});
    auto other = open();
    daemon_->kill();
    EXPECT_EQ(other->leave(base::TimePoint::max()).error().kind, ErrorKind::unavailable);
}

TEST_F(SessionDeathTest, RequestsInFlightEndOnceAsGone) {
    start(holding());
    auto session = open();
    const BufferHandle buffer = make_buffer(*session).handle;
    auto request = average(*session, buffer);
    ASSERT_TRUE(request);
    daemon_->kill();
    const RequestEnd end = wait(*session, *request);
    EXPECT_TRUE(is_gone(end));
    EXPECT_NE(end.message().find("reconnects"), std::string::npos) << end.message();
    EXPECT_EQ(session->wait(*request, base::TimePoint::max(), nullptr).error().kind,
              ErrorKind::handle);
    // The buffer is idle again.
    EXPECT_TRUE(session->free_buffer(buffer));
}

// The daemon sets the mark before it writes, and again when it has written.
TEST_F(SessionDeathTest, ARequestThatItsDaemonLeftSaysWhatItsBuffersHold) {
    using protocol::WriteState;
    for (const WriteState state :
         {WriteState::untouched, WriteState::writing, WriteState::whole, WriteState{7}}) {
        Script script;
        script.on_submission = [state](Peer& peer, const SubmissionEntry& entry) {
            auto* marks =
                reinterpret_cast<protocol::WriteMark*>(peer.ring.data() + peer.layout.marks());
            marks[3].request = entry.id;
            marks[3].state = static_cast<uint32_t>(state);
        };
        start(script);
        auto session = open();
        auto request = average(*session, make_buffer(*session).handle, 41);
        ASSERT_TRUE(request);
        daemon_->settle();
        daemon_->kill();
        const RequestEnd end = wait(*session, *request);
        EXPECT_TRUE(is_gone(end));
        EXPECT_EQ(end.contents, state == WriteState{7} ? WriteState::writing : state);
        EXPECT_EQ(end.entry.iteration, state == WriteState::whole ? 41U : 0U);
        const bool is_whole = end.message().find("whole result") != std::string::npos;
        EXPECT_EQ(is_whole, state == WriteState::whole) << end.message();
    }
}

// The next daemon is told the step and the rounds that the worker had reached.
TEST_F(SessionDeathTest, TheNextDaemonIsToldHowFarTheWorkerHadCome) {
    Script script;
    script.on_submission = [](Peer& peer, const SubmissionEntry& entry) {
        protocol::CompletionEntry done{};
        done.id = entry.id;
        done.iteration = 17;
        done.group = 299;
        peer.complete(done);
    };
    start(script);
    auto session = open();
    (void)wait(*session, barrier(*session));
    daemon_->kill();
    std::array<uint64_t, 2> told{};
    Script next;
    next.on_packet = [&told](Peer&, Packet& packet) {
        if (const auto* join = packet.body<wire::Join>())
            told = {join->iteration(), join->rounds()};
        return false;
    };
    daemon_->restart(next);
    make_buffer(*session);
    daemon_->settle();
    EXPECT_EQ(told, (std::array<uint64_t, 2>{17, 300}));
}

TEST_F(SessionDeathTest, ADaemonsLastWordIsQuoted) {
    start(holding());
    auto session = open();
    const RequestHandle request = barrier(*session);
    daemon_->with_peer([](Peer& peer) {
        peer.send_failed(0, ErrorKind::corrupt, "your ring is torn");
        peer.close();
    });
    const RequestEnd end = wait(*session, request);
    EXPECT_TRUE(is_gone(end));
    EXPECT_NE(end.message().find("your ring is torn"), std::string::npos) << end.message();

    daemon_->restart({});
    wait(*session, barrier(*session));
    Script script;
    script.on_packet = [](Peer& peer, Packet& packet) {
        if (packet.type() != wire::Body::BufferCreate) return false;
        peer.send_failed(0, ErrorKind::memory, "no memory for you");
        peer.close();
        return true;
    };
    daemon_->restart(std::move(script));
    auto buffer = session->create_buffer(protocol::DType::f32, 1);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().kind, ErrorKind::memory);
}

TEST_F(SessionDeathTest, LookingOnceIsEnoughToNoticeADeath) {
    start(holding());
    auto session = open();
    const RequestHandle request = barrier(*session);
    daemon_->kill();
    RequestEnd end;
    auto ended = session->wait(request, base::TimePoint::min(), &end);
    ASSERT_TRUE(ended);
    EXPECT_TRUE(*ended);
    EXPECT_TRUE(is_gone(end));
}

TEST_F(SessionDeathTest, WhatEndedBeforeTheDeathCountsAsEnded) {
    start(holding());
    auto session = open();
    const RequestHandle first = barrier(*session);
    const RequestHandle second = barrier(*session);
    daemon_->with_peer([&](Peer& peer) { peer.complete_done(first.id); });
    daemon_->kill();
    EXPECT_TRUE(is_gone(wait(*session, second)));
    EXPECT_EQ(wait(*session, first).entry.outcome, protocol::Outcome::done);
}

TEST_F(SessionDeathTest, TheSessionComesBackWithItsMemoryPointersAndHandles) {
    start();
    auto session = open();
    const CreatedBuffer freed = make_buffer(*session, 8);
    const CreatedBuffer kept = make_buffer(*session, 16);
    const CreatedBuffer other = make_buffer(*session, 32);
    ASSERT_TRUE(session->free_buffer(freed.handle));
    static_cast<float*>(kept.data)[3] = 1.25F;
    ino_t inode = 0;
    daemon_->with_peer([&](Peer& peer) { inode = peer.buffers.at(101).inode; });

    SubmissionEntry seen{};
    Script next;
    next.generation = 2;
    next.ring_slots = 2;
    next.on_submission = keeping(seen);
    daemon_->restart(std::move(next));
    auto request = average(*session, kept.handle, 5);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(wait(*session, *request).entry.outcome, protocol::Outcome::done);
    daemon_->settle();
    // The new daemon chooses its own numbers. The session translates the handle.
    EXPECT_EQ(seen.slices[0].buffer, 100U);
    EXPECT_EQ(seen.slices[0].generation, 107U);
    daemon_->with_peer([&](Peer& peer) {
        EXPECT_EQ(peer.buffers.size(), 2U);
        const FakeBuffer& adopted = peer.buffers.at(100);
        EXPECT_TRUE(adopted.adopted);
        EXPECT_EQ(adopted.inode, inode);
        float value = 0;
        std::memcpy(&value, adopted.memory.data() + 3 * sizeof(float), sizeof(value));
        EXPECT_EQ(value, 1.25F);
    });
    EXPECT_EQ(session->info()->generation, 2U);
    EXPECT_TRUE(session->free_buffer(other.handle));
}

TEST_F(SessionDeathTest, ReconnectingOutlastsDaemonsThatDieOnTheWay) {
    for (const wire::Body step : {wire::Body::Hello, wire::Body::Join, wire::Body::BufferCreate}) {
        start();
        auto session = open();
        const BufferHandle buffer = make_buffer(*session).handle;
        int deaths = 0;
        Script stumbling;
        stumbling.on_packet = [&](Peer& peer, Packet& packet) {
            if (packet.type() != step || deaths == 2) return false;
            ++deaths;
            peer.close();
            return true;
        };
        daemon_->restart(std::move(stumbling));
        auto request = average(*session, buffer);
        ASSERT_TRUE(request) << request.error().message;
        wait(*session, *request);
        EXPECT_EQ(deaths, 2);
    }
}

TEST_F(SessionDeathTest, ReconnectingGivesUpAfterItsTimeAndMayBeTriedAgain) {
    start();
    auto opened = try_open(protocol::Policy::partial_reduce, milliseconds(300));
    ASSERT_TRUE(opened) << opened.error().message;
    auto session = std::move(*opened);
    const BufferHandle buffer = make_buffer(*session).handle;
    daemon_->kill();
    auto refused = average(*session, buffer);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
    daemon_->restart({});
    EXPECT_TRUE(average(*session, buffer));
}

TEST_F(SessionDeathTest, ARefusalWhileReconnectingIsToldAsItIs) {
    start();
    auto session = open();
    (void)make_buffer(*session);
    Script script;
    script.on_packet = [](Peer& peer, Packet& packet) {
        const auto* create = packet.body<wire::BufferCreate>();
        if (create != nullptr) peer.send_failed(create->request(), ErrorKind::limit, "no room");
        return create != nullptr;
    };
    daemon_->restart(std::move(script));
    auto refused = session->submit({});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::limit);
    EXPECT_TRUE(says(refused.error(), "no room"));
}

TEST_F(SessionDeathTest, TheDescriptorTellsADeathAndStaysTheSameAfterIt) {
    start(holding());
    auto session = open();
    const int fd = *session->ready_fd();
    const auto is_readable = [&](int timeout_ms) {
        pollfd watched{fd, POLLIN, 0};
        return poll(&watched, 1, timeout_ms) == 1;
    };
    EXPECT_FALSE(is_readable(0));
    daemon_->kill();
    EXPECT_TRUE(is_readable(-1));
    daemon_->restart(holding());
    const RequestHandle request = barrier(*session);
    EXPECT_FALSE(is_readable(0));
    daemon_->with_peer([&](Peer& peer) { peer.complete_done(request.id); });
    EXPECT_TRUE(is_readable(0));
    wait(*session, request);
    EXPECT_FALSE(is_readable(0));
    EXPECT_EQ(*session->ready_fd(), fd);
}

}  // namespace
}  // namespace pace::client::testing
