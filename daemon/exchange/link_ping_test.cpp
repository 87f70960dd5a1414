#include "daemon/exchange/link_ping.h"

#include <optional>

#include <gtest/gtest.h>

#include "daemon/collectives/test_cluster.h"

namespace pace::daemon {
namespace {

using base::Result;
using base::Task;

Task<Result<>> keeping(Task<Result<LinkTimes>> task, std::optional<LinkTimes>& ret_times) {
    Result<LinkTimes> times = co_await std::move(task);
    if (!times) co_return std::move(times).error();
    ret_times = *times;
    co_return Result<>();
}

// Tells the trips' durations one after the other: each is looked at twice.
std::function<base::TimePoint()> clock_of(std::vector<int64_t> trips_us) {
    return [trips = std::move(trips_us), now = base::TimePoint(), looks = size_t{0}]() mutable {
        if (looks % 2 == 1) now += std::chrono::microseconds(trips[looks / 2]);
        ++looks;
        return now;
    };
}

TEST(LinkPing, TheFastestOfEachKindCountsAndTheFirstDoesNot) {
    collectives::TestCluster cluster(2);
    std::optional<LinkTimes> times;
    cluster.start(1, answer_pings(cluster.communicator(1)));
    cluster.start(0, keeping(ping_link(cluster.communicator(0),
                                       clock_of({1, 50, 30, 90, 20, 70, 70, 70, 900, 282, 400})),
                             times));
    cluster.run_well();
    ASSERT_TRUE(times);
    EXPECT_EQ(times->latency_ns, 10'000U);
    EXPECT_DOUBLE_EQ(times->ns_per_byte, (282'000.0 - 20'000.0) / (256 * 1024));
}

TEST(LinkPing, LargeMessagesThatAreFasterThanTinyOnesAreFree) {
    collectives::TestCluster cluster(2);
    std::optional<LinkTimes> times;
    cluster.start(1, answer_pings(cluster.communicator(1)));
    cluster.start(
        0, keeping(ping_link(cluster.communicator(0), clock_of({9, 9, 9, 9, 9, 9, 9, 9, 5, 5, 5})),
                   times));
    cluster.run_well();
    ASSERT_TRUE(times);
    EXPECT_EQ(times->ns_per_byte, 0);
}

TEST(LinkPing, SendsNoMoreThanItSays) {
    collectives::TestCluster cluster(2);
    std::optional<LinkTimes> times;
    cluster.start(0, keeping(ping_link(cluster.communicator(0)), times));
    cluster.start(1, answer_pings(cluster.communicator(1)));
    cluster.run_well();
    EXPECT_EQ(cluster.communicator(0).counters().messages_sent, 11U);
    EXPECT_EQ(cluster.communicator(0).counters().bytes_sent, 8 * 8 + 3 * 256 * 1024U);
    EXPECT_EQ(cluster.communicator(1).counters().bytes_sent, 11 * 8U);
}

TEST(LinkPing, ALostPeerEndsItAtEveryStep) {
    for (const size_t victim : {0U, 1U})
        for (size_t step = 0;; ++step) {
            collectives::TestCluster cluster(2, step + 1);
            std::optional<LinkTimes> times;
            cluster.start(0, keeping(ping_link(cluster.communicator(0)), times));
            cluster.start(1, answer_pings(cluster.communicator(1)));
            for (size_t i = 0; i < step; ++i) cluster.network().progress();
            if (cluster.all_ended()) break;
            cluster.network().kill(cluster.transport(victim));
            cluster.run();
            ASSERT_EQ(cluster.ends(1 - victim), 1) << step;
        }
}

TEST(LinkPing, AnAbortEndsTheSideThatWaitsForNobody) {
    collectives::TestCluster cluster(2);
    cluster.start(1, answer_pings(cluster.communicator(1)));
    cluster.run();
    EXPECT_FALSE(cluster.ended(1));
    cluster.communicator(1).abort({base::ErrorKind::aborted, "enough"});
    cluster.run();
    EXPECT_TRUE(cluster.ended(1));
}

}  // namespace
}  // namespace pace::daemon
