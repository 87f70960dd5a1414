// Request tests: requests whose peers take their time or never come. The tests wait, cancel and
// poll.
#include <poll.h>

#include <csignal>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

std::vector<Worker> workers_of(const Cluster& cluster, WorkerOptions options) {
    std::vector<Worker> workers;
    for (uint32_t rank = 0; rank < options.world; ++rank) {
        options.endpoint = cluster.endpoint(0);
        options.rank = rank;
        workers.emplace_back(options);
        EXPECT_EQ(workers.back().opened(), PACE_OK) << workers.back().complaint();
        if (workers.back().opened() == PACE_OK)
            workers.back().add_floats(100, static_cast<float>(rank + 1));
    }
    return workers;
}

WorkerOptions averaging_pair() {
    return {.world = 2, .policy = PACE_POLICY_PARTIAL_REDUCE, .group_size = 2};
}

bool is_readable(int fd, int timeout_ms) {
    pollfd watched{fd, POLLIN, 0};
    return poll(&watched, 1, timeout_ms) > 0;
}

TEST(Requests, AWaitThatTimesOutLeavesTheRequestToSucceedLater) {
    Cluster cluster({.nodes = 1, .controller = false});
    auto workers = workers_of(cluster, {.world = 2});
    ASSERT_FALSE(testing::Test::HasFailure());
    const pace_request early = workers[0].reduce();
    EXPECT_EQ(workers[0].wait(early, 0), PACE_TIMEOUT);
    EXPECT_EQ(workers[0].wait(early, 20), PACE_TIMEOUT);
    EXPECT_FALSE(workers[0].complaint().empty());
    const pace_request late = workers[1].reduce();
    workers[0].finish(early);
    workers[1].finish(late);
    EXPECT_EQ(workers[0].info().member_count, 2U);
    EXPECT_EQ(workers[0].wait(early, 0), PACE_E_HANDLE) << "collected already";
}

TEST(Requests, OneWhosePeersNeverComeEndsWhenItIsCanceled) {
    Cluster cluster({.nodes = 1, .controller = false});
    for (const bool averages : {false, true}) {
        WorkerOptions options = averages ? averaging_pair() : WorkerOptions{.world = 2};
        options.job = averages ? "average" : "reduce";
        auto workers = workers_of(cluster, options);
        ASSERT_FALSE(testing::Test::HasFailure());
        const pace_request alone = averages ? workers[0].average(1) : workers[0].reduce();
        ASSERT_EQ(workers[0].cancel(alone), PACE_OK) << workers[0].complaint();
        EXPECT_EQ(workers[0].wait(alone), PACE_CANCELED) << workers[0].complaint();
        EXPECT_EQ(workers[0].info().status, PACE_CANCELED);
        EXPECT_EQ(workers[0].cancel(alone), PACE_E_HANDLE);
        // The cancellation harms neither worker.
        const pace_request again = averages ? workers[0].average(2) : workers[0].reduce();
        const pace_request other = averages ? workers[1].average(2) : workers[1].reduce();
        workers[0].finish(again);
        workers[1].finish(other);
    }
}

TEST(Requests, AWorkerAloneMayCancelItsFirstBroadcast) {
    Cluster cluster({.nodes = 1, .controller = false});
    Worker worker({.endpoint = cluster.endpoint(0), .world = 2});
    ASSERT_EQ(worker.opened(), PACE_OK) << worker.complaint();
    const float* data = worker.add_floats(10, 7);
    const pace_request request = worker.broadcast(0);
    ASSERT_EQ(worker.cancel(request), PACE_OK);
    EXPECT_EQ(worker.wait(request), PACE_CANCELED);
    EXPECT_EQ(data[9], 7);
}

// The request travels through the ring, and its cancellation through the socket. Neither may
// overtake the other.
TEST(Requests, ACancellationIsNeverLostHoweverSoonItComes) {
    Cluster cluster({.nodes = 1, .controller = false});
    for (const bool averages : {false, true}) {
        WorkerOptions options = averages ? averaging_pair() : WorkerOptions{.world = 2};
        options.job = averages ? "average" : "reduce";
        auto workers = workers_of(cluster, options);
        ASSERT_FALSE(testing::Test::HasFailure());
        for (uint64_t i = 0; i < 300; ++i) {
            const pace_request request = averages ? workers[0].average(i) : workers[0].reduce();
            ASSERT_EQ(workers[0].cancel(request), PACE_OK);
            ASSERT_EQ(workers[0].wait(request, 10000), PACE_CANCELED) << i << cluster.logs();
        }
    }
}

TEST(Requests, ACancellationOutlivesTheController) {
    Cluster cluster({.nodes = 2});
    WorkerOptions options = averaging_pair();
    options.endpoint = cluster.endpoint(0);
    Worker first(options);
    options.endpoint = cluster.endpoint(1);
    options.rank = 1;
    Worker second(options);
    ASSERT_EQ(first.opened(), PACE_OK) << first.complaint();
    ASSERT_EQ(second.opened(), PACE_OK) << second.complaint();
    first.add_floats(10, 1);
    second.add_floats(10, 2);
    const pace_request both = first.average(1);
    second.finish(second.average(1));
    first.finish(both);

    const pace_request alone = first.average(2);
    cluster.kill_controller();
    ASSERT_EQ(first.cancel(alone), PACE_OK) << first.complaint();
    cluster.start_controller();
    EXPECT_EQ(first.wait(alone), PACE_CANCELED) << first.complaint() << cluster.logs();
    const pace_request again = first.average(2);
    second.finish(second.average(2));
    first.finish(again);
}

TEST(Requests, ManyInFlightEndInTheirOrderAndOneTooManyIsRefused) {
    Cluster cluster({.nodes = 1, .controller = false});
    auto workers = workers_of(cluster, {.world = 2});
    ASSERT_FALSE(testing::Test::HasFailure());
    std::vector<pace_request> requests;
    for (int i = 0; i < 64; ++i) requests.push_back(workers[0].barrier());
    pace_request more{};
    pace_error error{};
    EXPECT_EQ(pace_barrier(workers[0].session(), nullptr, &more, &error), PACE_E_LIMIT);
    EXPECT_NE(std::string(error.message).find("64"), std::string::npos) << error.message;
    for (size_t i = 0; i < requests.size(); ++i) workers[1].finish(workers[1].barrier());
    uint64_t last = 0;
    for (const pace_request request : requests) {
        workers[0].finish(request);
        EXPECT_GE(workers[0].info().round, last);
        last = workers[0].info().round;
    }
}

TEST(Requests, TheDescriptorTellsAnEndAndADeathAndOutlivesTheDaemon) {
    Cluster cluster({.nodes = 1, .controller = false});
    auto workers = workers_of(cluster, {.world = 2});
    ASSERT_FALSE(testing::Test::HasFailure());
    const int fd = workers[0].ready_fd();
    const pace_request request = workers[0].reduce();
    EXPECT_FALSE(is_readable(fd, 0));
    const pace_request other = workers[1].reduce();
    ASSERT_TRUE(is_readable(fd, 30000)) << cluster.logs();
    EXPECT_EQ(workers[0].wait(request, 0), PACE_OK);
    EXPECT_FALSE(is_readable(fd, 0));
    workers[1].finish(other);

    const pace_request doomed = workers[0].reduce();
    cluster.daemon(0).signal(SIGKILL);
    ASSERT_TRUE(is_readable(fd, 30000)) << "the daemon is dead";
    EXPECT_EQ(workers[0].wait(doomed), PACE_E_DAEMON_GONE);
    ASSERT_TRUE(cluster.daemon(0).wait(soon()));
    cluster.start_daemon(0);
    // The next calls reconnect, and are told that the daemon has forgotten the job. They give the
    // job a model. The descriptor is the same and works.
    const pace_request stale = workers[0].reduce();
    EXPECT_EQ(workers[0].ready_fd(), fd);
    EXPECT_EQ(workers[1].wait(workers[1].reduce()), PACE_STALE) << workers[1].complaint();
    ASSERT_TRUE(is_readable(fd, 30000));
    EXPECT_EQ(workers[0].wait(stale), PACE_STALE) << workers[0].complaint();
    const pace_request again = workers[0].broadcast(0);
    workers[1].finish(workers[1].broadcast(0));
    ASSERT_TRUE(is_readable(fd, 30000));
    workers[0].finish(again);
    EXPECT_FALSE(is_readable(fd, 0));
}

}  // namespace
}  // namespace pace::cluster
