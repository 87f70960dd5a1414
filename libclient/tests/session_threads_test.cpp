// Many threads on one session: every thread learns of the end of its request.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "base/random.h"
#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::SubmissionEntry;

class SessionThreadsTest : public SessionFixture {
  protected:
    // Makes so many calls, each of which ends or is canceled. `ret_ended` counts them.
    void end_many(Session& session, int calls, std::atomic<int>& ret_ended) {
        for (int i = 0; i < calls; ++i) {
            const RequestHandle request = barrier(session);
            // Looking once or waiting shortly must not take the end from another thread.
            const auto patience = std::chrono::milliseconds(i % 3);
            auto early = session.wait(request, base::now() + patience, nullptr);
            ASSERT_TRUE(early);
            if (!*early) {
                EXPECT_TRUE(session.cancel(request));
                (void)wait(session, request);
            }
            ++ret_ended;
        }
    }
};

TEST_F(SessionThreadsTest, EachOfManyWaitersGetsItsOwnEndWhateverTheOrder) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 200;
    // The daemon ends requests in a shuffled order, a few at a time.
    base::Random random(11);
    std::vector<uint64_t> held;
    Script script;
    script.on_submission = [&](Peer& peer, const SubmissionEntry& entry) {
        held.push_back(entry.id);
        // A request that is kept back ends with a later submission, or with somebody's cancel.
        if (held.size() < kThreads && random.below(3) != 0) return;
        while (!held.empty()) {
            const size_t pick = random.below(held.size());
            peer.complete_done(held[pick]);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(pick));
        }
    };
    script.on_packet = [&](Peer& peer, Packet& packet) {
        if (packet.type() != wire::Body::Cancel) return false;
        for (const uint64_t id : held) peer.complete_done(id);
        held.clear();
        return true;
    };
    start(std::move(script));
    auto session = open();
    std::atomic<int> ended{0};
    std::array<std::thread, kThreads> threads;
    for (std::thread& thread : threads)
        thread = std::thread([&] { end_many(*session, kRounds, ended); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ended, kThreads * kRounds);
    daemon_.reset();  // the daemon uses variables of this function
}

TEST_F(SessionThreadsTest, LeavingEndsTheWaitsOfOtherThreads) {
    for (int i = 0; i < 20; ++i) {
        start(holding());
        auto session = open();
        std::array<std::thread, 3> waiters;
        std::atomic<int> told{0};
        for (std::thread& waiter : waiters) {
            const RequestHandle request = barrier(*session);
            waiter = std::thread([&, request] {
                const auto ended = session->wait(request, base::TimePoint::max(), nullptr);
                if (!ended && ended.error().kind == ErrorKind::closed) ++told;
            });
        }
        EXPECT_TRUE(session->leave(base::now() + kPatience));
        for (std::thread& waiter : waiters) waiter.join();
        EXPECT_EQ(told, 3);
    }
}

TEST_F(SessionThreadsTest, EachEndComesToOneOfManyThatTakeTheNext) {
    constexpr int kRequests = 300;
    start();
    auto session = open();
    std::atomic<int> taken{0};
    std::atomic<int> begun{0};
    std::array<std::thread, 3> threads;
    for (std::thread& thread : threads) {
        thread = std::thread([&] {
            while (begun++ < kRequests) {
                (void)barrier(*session);
                RequestEnd end;
                const auto next = session->next(base::TimePoint::max(), &end);
                // Each thread takes as many ends as it has begun requests, so that there is one end
                // for each wait.
                ASSERT_TRUE(next) << next.error().message;
                EXPECT_EQ(end.entry.outcome, protocol::Outcome::done);
                ++taken;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken, kRequests);
}

TEST_F(SessionThreadsTest, BuffersComeAndGoWhileOthersWait) {
    start();
    auto session = open();
    std::atomic<bool> stop{false};
    std::thread waiter([&] {
        while (!stop) (void)wait(*session, barrier(*session));
    });
    for (int i = 0; i < 50; ++i) {
        const CreatedBuffer buffer = make_buffer(*session);
        auto request = average(*session, buffer.handle);
        ASSERT_TRUE(request);
        wait(*session, *request);
        EXPECT_TRUE(session->free_buffer(buffer.handle));
    }
    stop = true;
    waiter.join();
}

TEST_F(SessionThreadsTest, TheDescriptorMayBeAskedForWhileAnotherThreadWaits) {
    for (int i = 0; i < 20; ++i) {
        start(holding());
        auto session = open();
        const RequestHandle first = barrier(*session);
        std::thread waiter([&] { (void)wait(*session, first); });
        auto fd = session->ready_fd();
        ASSERT_TRUE(fd);
        const RequestHandle second = barrier(*session);
        daemon_->with_peer([&](Peer& peer) {
            peer.complete_done(second.id);
            peer.complete_done(first.id);
        });
        waiter.join();
        EXPECT_TRUE(*session->wait(second, base::TimePoint::min(), nullptr));
    }
}

TEST_F(SessionThreadsTest, EveryWaiterIsToldOnceWhenTheDaemonDies) {
    for (int i = 0; i < 20; ++i) {
        start(holding());
        auto session = open();
        std::array<std::thread, 4> waiters;
        std::atomic<int> told{0};
        for (std::thread& waiter : waiters) {
            const RequestHandle request = barrier(*session);
            waiter = std::thread([&, request] {
                if (is_gone(wait(*session, request))) ++told;
                // The request is collected. A second wait does not know the request.
                if (session->wait(request, base::TimePoint::max(), nullptr)) told += 100;
            });
        }
        daemon_->kill();
        for (std::thread& waiter : waiters) waiter.join();
        EXPECT_EQ(told, 4);
    }
}

TEST_F(SessionThreadsTest, ThreadsThatFindTheDaemonGoneReconnectOnce) {
    std::atomic<int> joins{0};
    const auto counting = [&] {
        Script script;
        script.on_packet = [&](Peer&, Packet& packet) {
            if (packet.type() == wire::Body::Join) ++joins;
            return false;
        };
        return script;
    };
    start(counting());
    auto session = open();
    daemon_->restart(counting());
    joins = 0;
    std::array<std::thread, 4> threads;
    for (std::thread& thread : threads)
        thread = std::thread([&] { (void)wait(*session, barrier(*session)); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(joins, 1);
}

}  // namespace
}  // namespace pace::client::testing
