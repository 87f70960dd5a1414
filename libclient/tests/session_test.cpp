// The promises of a session while its daemon lives and is honest.
#include "libclient/session/session.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::Outcome;
using protocol::SubmissionEntry;

class SessionTest : public SessionFixture {};

TEST_F(SessionTest, JoinsAndTellsAboutItself) {
    start();
    auto session = open();
    auto info = session->info();
    ASSERT_TRUE(info);
    EXPECT_EQ(info->rank, 1U);
    EXPECT_EQ(info->world, 4U);
    EXPECT_EQ(info->job, "job");
    EXPECT_EQ(info->node, "node-a");
    EXPECT_EQ(info->generation, 1U);
    EXPECT_FALSE(info->under_way);
}

TEST_F(SessionTest, SharesZeroedPageAlignedMemoryWithTheDaemon) {
    start();
    auto session = open();
    const CreatedBuffer buffer = make_buffer(*session, 1000);
    auto* floats = static_cast<float*>(buffer.data);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(floats) % 4096, 0U);
    EXPECT_EQ(floats[999], 0.0F);
    floats[5] = 2.5F;
    daemon_->with_peer([](Peer& peer) {
        float value = 0;
        std::memcpy(&value, peer.buffers.at(100).memory.data() + 5 * sizeof(float), sizeof(value));
        EXPECT_EQ(value, 2.5F);
    });
}

TEST_F(SessionTest, SubmitsWhatTheVerbSays) {
    SubmissionEntry seen{};
    Script script;
    script.on_submission = keeping(seen);
    start(std::move(script));
    auto session = open();
    const std::array handles{make_buffer(*session).handle, make_buffer(*session).handle};
    Operation operation;
    operation.verb = protocol::Verb::average;
    const auto slices = slices_of(handles);
    operation.slices = slices;
    operation.iteration = 41;
    auto request = session->submit(operation);
    ASSERT_TRUE(request);
    wait(*session, *request);
    daemon_->settle();
    EXPECT_EQ(seen.id, request->id);
    EXPECT_EQ(seen.verb, protocol::Verb::average);
    EXPECT_EQ(seen.iteration, 41U);
    EXPECT_EQ(seen.slice_count, 2);
    EXPECT_EQ(seen.slices[0].buffer, 100U);
    EXPECT_EQ(seen.slices[1].buffer, 101U);
    EXPECT_EQ(seen.slices[1].generation, 108U);
    EXPECT_EQ(seen.slices[1].first, 0U);
    EXPECT_EQ(seen.slices[1].count, 16U);
}

TEST_F(SessionTest, TellsHowARequestEndedWithItsMembersByRank) {
    Script script;
    script.on_submission = [](Peer& peer, const SubmissionEntry& submission) {
        protocol::CompletionEntry entry{};
        entry.id = submission.id;
        entry.outcome = Outcome::aborted;
        entry.iteration = 42;
        entry.group = 7;
        entry.member_count = 3;
        entry.members_listed = 3;
        entry.nodes = 2;
        entry.message_bytes = 5;
        std::memcpy(entry.message, "why so", 6);
        const std::array<protocol::MemberEntry, 3> members{
            {{2, 0, 5, 0.25}, {0, 0, 0, 0.5}, {1, 0, 1, 0.25}}};
        peer.complete(entry, members);
    };
    start(std::move(script));
    auto session = open();
    const CreatedBuffer buffer = make_buffer(*session);
    auto request = average(*session, buffer.handle);
    ASSERT_TRUE(request);
    std::array<protocol::MemberEntry, 2> room{};
    RequestEnd end;
    end.room = room;
    auto ended = session->wait(*request, base::TimePoint::max(), &end);
    ASSERT_TRUE(ended);
    EXPECT_TRUE(*ended);
    EXPECT_EQ(end.entry.outcome, Outcome::aborted);
    EXPECT_EQ(end.entry.iteration, 42U);
    EXPECT_EQ(end.message(), "why s");
    EXPECT_EQ(end.entry.member_count, 3U);
    ASSERT_EQ(end.listed, 2U);
    EXPECT_EQ(room[0].rank, 0U);
    EXPECT_EQ(room[0].weight, 0.5);
    EXPECT_EQ(room[1].rank, 1U);
    EXPECT_EQ(room[1].staleness, 1U);
}

TEST_F(SessionTest, WaitingThatTimesOutLeavesTheRequestInFlight) {
    start(holding());
    auto session = open();
    const RequestHandle request = barrier(*session);
    for (const auto timeout : {std::chrono::milliseconds(0), std::chrono::milliseconds(5)}) {
        auto ended = session->wait(request, base::now() + timeout, nullptr);
        ASSERT_TRUE(ended);
        EXPECT_FALSE(*ended);
    }
    daemon_->with_peer([&](Peer& peer) { peer.complete_done(request.id); });
    // Looking once is enough now.
    auto ended = session->wait(request, base::TimePoint::min(), nullptr);
    ASSERT_TRUE(ended);
    EXPECT_TRUE(*ended);
}

TEST_F(SessionTest, RefusesRequestHandlesThatAreNullForeignCollectedOrInvented) {
    start();
    auto session = open();
    auto other = open();
    const RequestHandle request = barrier(*session);
    wait(*session, request);
    const RequestHandle foreign = barrier(*other);
    const RequestHandle invented{request.session, request.id + (1U << 20U)};
    for (const RequestHandle handle : {RequestHandle{}, request, foreign, invented}) {
        auto ended = session->wait(handle, base::TimePoint::max(), nullptr);
        ASSERT_FALSE(ended);
        EXPECT_EQ(ended.error().kind, ErrorKind::handle);
    }
}

TEST_F(SessionTest, RefusesBufferHandlesThatAreNullForeignFreedOrInvented) {
    start();
    auto session = open();
    auto other = open();
    const BufferHandle freed = make_buffer(*session).handle;
    ASSERT_TRUE(session->free_buffer(freed));
    const BufferHandle reused = make_buffer(*session).handle;
    EXPECT_EQ(reused.index, freed.index);
    const BufferHandle foreign = make_buffer(*other).handle;
    const BufferHandle invented{reused.session, 99, 1};
    for (const BufferHandle handle : {BufferHandle{}, freed, foreign, invented}) {
        auto request = average(*session, handle);
        ASSERT_FALSE(request);
        EXPECT_EQ(request.error().kind, ErrorKind::handle) << request.error().message;
    }
    EXPECT_FALSE(session->free_buffer(freed));
    EXPECT_TRUE(session->free_buffer(BufferHandle{}));
    EXPECT_TRUE(average(*session, reused));
}

TEST_F(SessionTest, ABufferInFlightIsNeitherFreedNorSubmittedAgain) {
    start(holding());
    auto session = open();
    const BufferHandle buffer = make_buffer(*session).handle;
    const BufferHandle spare = make_buffer(*session).handle;
    auto request = average(*session, buffer);
    ASSERT_TRUE(request);
    EXPECT_EQ(session->free_buffer(buffer).error().kind, ErrorKind::invalid);
    const std::array both{spare, buffer};
    Operation operation;
    operation.verb = protocol::Verb::sync;
    const auto slices = slices_of(both);
    operation.slices = slices;
    EXPECT_EQ(session->submit(operation).error().kind, ErrorKind::invalid);
    // The refused submission has released its claim on the spare buffer.
    EXPECT_TRUE(average(*session, spare));
    daemon_->with_peer([&](Peer& peer) { peer.complete_done(request->id); });
    wait(*session, *request);
    EXPECT_TRUE(session->free_buffer(buffer));
}

TEST_F(SessionTest, ABufferNamedTwiceInOneVerbIsRefused) {
    start();
    auto session = open();
    const BufferHandle buffer = make_buffer(*session).handle;
    const std::array twice{buffer, buffer};
    Operation operation;
    operation.verb = protocol::Verb::sync;
    const auto slices_twice = slices_of(twice);
    operation.slices = slices_twice;
    auto request = session->submit(operation);
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().kind, ErrorKind::invalid);
    EXPECT_NE(request.error().message.find("twice"), std::string::npos);
    EXPECT_TRUE(average(*session, buffer));
}

TEST_F(SessionTest, RequestsAreLimitedByTheRing) {
    start(holding());
    auto session = open();
    std::array<RequestHandle, 8> requests;
    for (RequestHandle& request : requests) request = barrier(*session);
    auto refused = session->submit({});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::limit);
    daemon_->with_peer([&](Peer& peer) { peer.complete_done(requests[3].id); });
    wait(*session, requests[3]);
    // The daemon's thread may not have taken the earlier submissions off the ring yet.
    const auto deadline = base::now() + std::chrono::seconds(10);
    bool accepted = false;
    while (!accepted && base::now() < deadline) accepted = session->submit({}).ok();
    EXPECT_TRUE(accepted);
}

TEST_F(SessionTest, TheRingsGoRoundManyTimes) {
    start();
    auto session = open();
    for (int i = 0; i < 100; ++i) wait(*session, barrier(*session));
}

TEST_F(SessionTest, RefusesVerbsOfTheOtherFamilyAndArgumentsOutOfRange) {
    start();
    auto averaging = open(protocol::Policy::partial_reduce);
    auto collective = open(protocol::Policy::all_reduce);
    const BufferHandle mine = make_buffer(*averaging).handle;
    const BufferHandle theirs = make_buffer(*collective).handle;
    Operation operation;
    operation.verb = protocol::Verb::reduce;
    const Slice slice{mine};
    operation.slices = {&slice, 1};
    EXPECT_EQ(averaging->submit(operation).error().kind, ErrorKind::verb);
    EXPECT_EQ(average(*collective, theirs).error().kind, ErrorKind::verb);
    operation.verb = protocol::Verb::broadcast;
    operation.root = 4;
    EXPECT_EQ(averaging->submit(operation).error().kind, ErrorKind::invalid);
    operation.slices = {};
    operation.root = 0;
    EXPECT_EQ(averaging->submit(operation).error().kind, ErrorKind::invalid);
    EXPECT_EQ(averaging->create_buffer(protocol::DType::f32, 0).error().kind, ErrorKind::invalid);
    EXPECT_EQ(averaging->create_buffer(protocol::DType::f64, ~uint64_t{0}).error().kind,
              ErrorKind::invalid);
}

TEST_F(SessionTest, ADaemonsRefusalIsPassedOnAndChangesNothing) {
    Script script;
    script.on_packet = [](Peer& peer, Packet& packet) {
        const auto* create = packet.body<wire::BufferCreate>();
        if (create == nullptr || create->count() != 13) return false;
        peer.send_failed(create->request(), ErrorKind::limit, "quota of 12\nelements");
        return true;
    };
    start(std::move(script));
    auto session = open();
    auto refused = session->create_buffer(protocol::DType::f32, 13);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::limit);
    EXPECT_EQ(refused.error().message, "quota of 12?elements");
    EXPECT_NE(make_buffer(*session).data, nullptr);
}

TEST_F(SessionTest, CancelTellsTheDaemonWhichRequest) {
    Script script = holding();
    script.on_packet = [](Peer& peer, Packet& packet) {
        const auto* cancel = packet.body<wire::Cancel>();
        if (cancel == nullptr) return false;
        protocol::CompletionEntry entry{};
        entry.id = cancel->id();
        entry.outcome = Outcome::canceled;
        peer.complete(entry);
        return true;
    };
    start(std::move(script));
    auto session = open();
    const RequestHandle request = barrier(*session);
    ASSERT_TRUE(session->cancel(request));
    EXPECT_EQ(wait(*session, request).entry.outcome, Outcome::canceled);
    EXPECT_EQ(session->cancel(request).error().kind, ErrorKind::handle);
}

bool is_readable(int fd, int timeout_ms) {
    pollfd watched{fd, POLLIN, 0};
    return poll(&watched, 1, timeout_ms) == 1;
}

TEST_F(SessionTest, TheDescriptorIsReadableExactlyWhileEndedRequestsWait) {
    start(holding());
    auto session = open();
    const RequestHandle before = barrier(*session);
    daemon_->with_peer([&](Peer& peer) { peer.complete_done(before.id); });
    auto fd = session->ready_fd();
    ASSERT_TRUE(fd);
    // The request ended before anyone asked for the descriptor, without a ring of the bell.
    EXPECT_TRUE(is_readable(*fd, 0));
    wait(*session, before);
    EXPECT_FALSE(is_readable(*fd, 0));

    const RequestHandle first = barrier(*session);
    const RequestHandle second = barrier(*session);
    EXPECT_FALSE(is_readable(*fd, 0));
    daemon_->with_peer([&](Peer& peer) {
        peer.complete_done(second.id);
        peer.complete_done(first.id);
    });
    EXPECT_TRUE(is_readable(*fd, 0));
    wait(*session, first);
    // Both completions came off the ring. One request is not collected.
    EXPECT_TRUE(is_readable(*fd, 0));
    wait(*session, second);
    EXPECT_FALSE(is_readable(*fd, 0));
    EXPECT_EQ(*session->ready_fd(), *fd);
}

TEST_F(SessionTest, SessionsOfOneProcessAreIndependent) {
    start(holding());
    auto first = open();
    auto second = open();
    const RequestHandle a = barrier(*first);
    const RequestHandle b = barrier(*second);
    daemon_->with_peer([&](Peer& peer) { peer.complete_done(b.id); });
    wait(*second, b);
    auto ended = first->wait(a, base::TimePoint::min(), nullptr);
    ASSERT_TRUE(ended);
    EXPECT_FALSE(*ended);
}

TEST_F(SessionTest, AForkedChildIsRefusedAndDoesNotDisturbItsParent) {
    start();
    auto session = open();
    const pid_t child = fork();
    if (child == 0) {
        auto request = session->submit({});
        const bool refused = !request && request.error().kind == ErrorKind::invalid;
        session.reset();
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    wait(*session, barrier(*session));
}

}  // namespace
}  // namespace pace::client::testing
