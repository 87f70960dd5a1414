// Loop tests: the daemon's event loop serves every client and every heartbeat. No client's request
// may delay the loop, however large its model is.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/sanitized.h"
#include "capi/testing/calls.h"
#include "libclient/link/link.h"
#include "protocol/version.h"
#include "tests/cluster/harness/flood.h"
#include "tests/cluster/harness/loop_fixture.h"

namespace pace::cluster {
namespace {

namespace fb = protocol::client;

pace_request sync(Worker& worker) {
    pace_request request{};
    pace_error error{};
    EXPECT_EQ(pace_sync(worker.session(), Slices(worker.buffers().data(), worker.buffers().size()),
                        worker.buffers().size(), nullptr, &request, &error),
              PACE_OK)
        << error.message;
    return request;
}

TEST(Loop, GoesOnWhileALargeBufferComesAndGoes) {
    SKIP_WITHOUT_ROOM_FOR(1);
    Cluster cluster({.nodes = 1, .daemon_flags = room_for_models()});
    {
        Worker worker({.endpoint = cluster.endpoint(0)});
        ASSERT_NE(worker.add_buffer(PACE_F32, model_floats()), nullptr) << worker.complaint();
        pace_error error{};
        EXPECT_EQ(pace_buffer_free(worker.session(), worker.buffers()[0], &error), PACE_OK);
        Worker other({.endpoint = cluster.endpoint(0), .job = "other"});
        ASSERT_NE(other.add_buffer(PACE_F32, model_floats()), nullptr) << other.complaint();
    }
    expect_calm(cluster, 1);
}

TEST(Loop, GoesOnDuringRoundsOfALargeModel) {
    SKIP_WITHOUT_ROOM_FOR(4);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {});
        pair.both([](Worker& worker) { return worker.broadcast(1); });
        pair.expect_value(2);
        pair.both([](Worker& worker) { return worker.reduce(); });
        pair.expect_value(4);
        pair.both(sync);
        pair.expect_value(4);
        pair.both([](Worker& worker) { return worker.barrier(); });
        expect_calm(cluster, 2);
    }
    expect_calm(cluster, 2);
}

TEST(Loop, GoesOnDuringRoundsInHalvesThatRefuseWhatIsNoNumber) {
    SKIP_WITHOUT_ROOM_FOR(4);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {.tune = [](AskedSession& job) {
                      job.set(PACE_OPT_COMPRESSION, "f16");
                      job.set(PACE_OPT_REDUCE_REJECT_NONFINITE, 1);
                  }});
        pair.both([](Worker& worker) { return worker.reduce(); });
        pair.expect_value(3);
    }
    expect_calm(cluster, 2);
}

TEST(Loop, GoesOnDuringAveragesOfALargeModel) {
    SKIP_WITHOUT_ROOM_FOR(6);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {.policy = PACE_POLICY_PARTIAL_REDUCE,
                            .group_size = 2,
                            .weights = "dynamic",
                            .tune = [](AskedSession& job) {
                                job.set(PACE_OPT_AVERAGE_MISSING, "initial");
                            }});
        pair.both([](Worker& worker) { return worker.broadcast(0); });
        pair.expect_value(1);
        pair.both([](Worker& worker) { return worker.average(1); });
        pair.expect_value(1);
        pair.set(3);
        pair.both([](Worker& worker) { return worker.average(2); });
    }
    expect_calm(cluster, 2);
}

TEST(Loop, GoesOnWhileANewcomerIsGivenALargeModel) {
    SKIP_WITHOUT_ROOM_FOR(6);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {});
        pair.both([](Worker& worker) { return worker.broadcast(0); });
        pair.both([](Worker& worker) { return worker.reduce(); });
        pair.set(5);
        pair.workers.pop_back();
        pair.data.pop_back();
        Worker newcomer(
            {.endpoint = cluster.endpoint(1), .rank = 1, .world = 2, .tune = [](AskedSession& job) {
                 job.set(PACE_OPT_WORKER_TIMEOUT_MS, 600000);
             }});
        ASSERT_EQ(newcomer.opened(), PACE_OK) << newcomer.complaint();
        const float* const model = newcomer.add_floats(model_floats(), 0);
        const pace_request adopted = newcomer.broadcast(0);
        // A worker that is alone meets no other worker. It calls again until the newcomer is there.
        // Then the newcomer takes the model.
        pace_request barrier = pair.workers[0].barrier();
        const auto newcomer_ends = [&](pace_request request) {
            pace_status status = PACE_TIMEOUT;
            while ((status = newcomer.wait(request, 50)) == PACE_TIMEOUT)
                if (pair.workers[0].wait(barrier, 0) == PACE_OK)
                    barrier = pair.workers[0].barrier();
            EXPECT_EQ(status, PACE_OK);
        };
        newcomer_ends(adopted);
        newcomer_ends(newcomer.barrier());
        for (const uint64_t i : {uint64_t{0}, model_floats() - 1}) EXPECT_EQ(model[i], 5);
    }
    expect_calm(cluster, 2);
}

// Worker 1 comes late to two rounds, and gets the rounds that it has missed. Its contribution
// counts in the next round.
TEST(Loop, GoesOnDuringRoundsThatDoNotWaitForALateWorker) {
    SKIP_WITHOUT_ROOM_FOR(7);
    Cluster cluster({.nodes = 2, .daemon_flags = room_for_models()});
    {
        Pair pair(cluster, {.tune = [](AskedSession& job) { job.set(PACE_OPT_QUORUM, "solo"); }});
        const auto barrier = [&] { pair.both([](Worker& worker) { return worker.barrier(); }); };
        const auto reduce = [&](size_t rank) {
            pair.workers[rank].finish(pair.workers[rank].reduce());
        };
        barrier();
        reduce(0);
        reduce(0);
        barrier();  // worker 1's node has both rounds
        reduce(1);
        EXPECT_EQ(pair.workers[1].info().rounds, 2U);
        EXPECT_EQ(pair.data[1][model_floats() - 1], 2);
        pair.set(5);
        reduce(0);
        EXPECT_EQ(pair.data[0][model_floats() - 1], 7);
        barrier();
        reduce(1);
        reduce(1);
        barrier();
    }
    expect_calm(cluster, 2);
}

// ----------------------------------------------------------------------- one client and the others

// Returns the seconds until the daemon has greeted a client that connects.
double greeting_takes(const Cluster& cluster) {
    const base::TimePoint began = base::now();
    auto link = client::Link::connect(cluster.socket(0), soon());
    EXPECT_TRUE(link);
    flatbuffers::FlatBufferBuilder hello;
    client::finish_packet(hello, fb::CreateHelloDirect(hello, protocol::kVersion, "guest"));
    EXPECT_TRUE(link->send(hello, -1, soon()));
    EXPECT_TRUE(link->receive(soon()));
    return base::to_seconds(base::now() - began);
}

TEST(Loop, AClientThatFloodsItDelaysNobodyElse) {
    // The limit is enough for some of the client's buffers.
    if (base::kSanitized) GTEST_SKIP() << "measures time, which a sanitizer's build takes more of";
    Cluster cluster(
        {.nodes = 1, .controller = false, .daemon_flags = {"--client-bytes-max", "64MiB"}});
    const Flood flood(cluster);
    std::vector<double> times;
    for (const Deadline end = soon();
         (times.size() < 20 || flood.answers() < 20) && std::chrono::steady_clock::now() < end;)
        times.push_back(greeting_takes(cluster));
    EXPECT_GE(flood.answers(), 20U) << "nothing was in the way";
    std::sort(times.begin(), times.end());
    // The machine may be busy, so not every greeting must be in time.
    EXPECT_LT(times[times.size() * 9 / 10], 0.1) << "worst " << times.back();
    expect_calm(cluster, 1);
}

// The small buffer of another client does not wait for all of a large one.
TEST(Loop, ALargeBufferDelaysNoSmallOne) {
    SKIP_WITHOUT_ROOM_FOR(1);
    Cluster cluster({.nodes = 1, .controller = false, .daemon_flags = room_for_models()});
    Worker large({.endpoint = cluster.endpoint(0), .job = "large"});
    Worker small({.endpoint = cluster.endpoint(0), .job = "small"});
    ASSERT_EQ(small.opened(), PACE_OK) << small.complaint();
    std::atomic<bool> made = false;
    std::thread maker([&] {
        EXPECT_NE(large.add_buffer(PACE_F32, model_floats()), nullptr) << large.complaint();
        made = true;
    });
    int meanwhile = 0;
    while (!made) {
        ASSERT_NE(small.add_buffer(PACE_F32, kMebi), nullptr) << small.complaint();
        pace_error error{};
        EXPECT_EQ(pace_buffer_free(small.session(), small.buffers().back(), &error), PACE_OK);
        if (!made) ++meanwhile;
    }
    maker.join();
    EXPECT_GE(meanwhile, 4) << "small buffers waited for the large one";
    expect_calm(cluster, 1);
}

}  // namespace
}  // namespace pace::cluster
