#include "daemon/exchange/link_ping.h"

#include <optional>

#include <gtest/gtest.h>

#include "daemon/collectives/tests/test_cluster.h"

namespace pace::daemon {
namespace {

using base::Result;
using base::Task;

Task<Result<>> keeping(Task<Result<LinkTrips>> task, std::optional<LinkTrips>& ret_trips) {
    Result<LinkTrips> trips = co_await std::move(task);
    if (!trips) co_return std::move(trips).error();
    ret_trips = *trips;
    co_return Result<>();
}

// A clock under which trips last these times, one after the other; each trip reads it twice.
std::function<base::TimePoint()> clock_of(std::vector<int64_t> trips_us) {
    return [trips = std::move(trips_us), now = base::TimePoint(), looks = size_t{0}]() mutable {
        if (looks % 2 == 1) now += std::chrono::microseconds(trips[looks / 2]);
        ++looks;
        return now;
    };
}

TEST(LinkPing, TheFastestOfEachKindCountsAndTheFirstDoesNot) {
    collectives::TestCluster cluster(2);
    std::optional<LinkTrips> trips;
    cluster.start(1, answer_pings(cluster.communicator(1)));
    cluster.start(0, keeping(ping_link(cluster.communicator(0),
                                       clock_of({1, 50, 30, 90, 20, 70, 70, 70, 900, 282, 400})),
                             trips));
    cluster.run_well();
    ASSERT_TRUE(trips);
    const auto times = trips->times();
    ASSERT_TRUE(times);
    EXPECT_EQ(times->latency_ns, 10'000U);
    EXPECT_DOUBLE_EQ(times->ns_per_byte, (282'000.0 - 20'000.0) / (256 * 1024));
}

LinkTrips trips_of(int64_t tiny_us, int64_t large_us) {
    return {std::chrono::microseconds(tiny_us), std::chrono::microseconds(large_us)};
}

TEST(LinkPing, WhatNoNetworkCanDoIsNotBelieved) {
    EXPECT_FALSE(trips_of(9, 5).times()) << "a large message that is faster";
    EXPECT_FALSE(trips_of(9, 9).times()) << "bytes that take no time";
    EXPECT_FALSE(trips_of(0, 100).times()) << "a message that takes no time";
    EXPECT_FALSE(trips_of(-5, 100).times());
    EXPECT_FALSE(trips_of(9, 10).times()) << "262 GB/s";
    ASSERT_TRUE(trips_of(9, 11).times()) << "131 GB/s, within a machine";
    EXPECT_NEAR(trips_of(9, 11).times()->ns_per_byte, 0.0076, 0.0001);
}

// A busy moment makes the first series ten times too slow, and a large message of the second one.
TEST(LinkPing, TheFastestTripsOfSeveralSeriesCount) {
    const LinkTrips best =
        trips_of(300, 65'000).best_with(trips_of(30, 40'000)).best_with(trips_of(40, 292));
    ASSERT_TRUE(best.times());
    EXPECT_EQ(best.times()->latency_ns, 15'000U);
    EXPECT_NEAR(best.times()->ns_per_byte, 1.0, 0.001);
}

TEST(LinkPing, SendsNoMoreThanItSays) {
    collectives::TestCluster cluster(2);
    std::optional<LinkTrips> trips;
    cluster.start(0, keeping(ping_link(cluster.communicator(0)), trips));
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
            std::optional<LinkTrips> trips;
            cluster.start(0, keeping(ping_link(cluster.communicator(0)), trips));
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
