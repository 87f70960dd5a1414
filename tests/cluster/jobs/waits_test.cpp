// Wait tests: a worker waits for another one that does not call. The library, the daemon's log and
// pacectl name that worker, for every verb and family.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"
#include "tests/cluster/trainers/server_worker.h"

namespace pace::cluster {
namespace {

using Tune = std::function<void(AskedSession&)>;

// One job with one worker on each of two nodes, unless a case wants otherwise.
class Scene {
  public:
    Scene() : cluster({.nodes = 2, .daemon_flags = {"--wait-notice-ms", "300"}}) {}

    Worker& open(uint32_t rank, const std::string& policy, const Tune& tune = {}) {
        const bool is_sized =
            policy != PACE_POLICY_ALL_REDUCE && policy != PACE_POLICY_PRAGUE_STATIC;
        Worker worker({.endpoint = cluster.endpoint(rank),
                       .rank = rank,
                       .world = 2,
                       .policy = policy,
                       .group_size = is_sized ? 2U : 0U,
                       .tune = tune});
        EXPECT_EQ(worker.opened(), PACE_OK) << worker.complaint();
        workers.push_back(std::make_unique<Worker>(std::move(worker)));
        workers.back()->add_floats(100, 1);
        return *workers.back();
    }
    // Opens both workers. The second does nothing.
    Worker& open_both(const std::string& policy, const Tune& tune = {}) {
        open(0, policy, tune);
        open(1, policy, tune);
        return *workers.front();
    }
    void broadcast() {
        std::vector<pace_request> requests;
        for (const auto& worker : workers) requests.push_back(worker->broadcast(0));
        for (size_t i = 0; i < requests.size(); ++i) workers[i]->finish(requests[i]);
    }
    void close(uint32_t rank) { workers.erase(workers.begin() + rank); }

    Cluster cluster;
    std::vector<std::unique_ptr<Worker>> workers;
    Workers served;
};

struct Waiting {
    Worker& worker;
    pace_request request;
    size_t node = 0;
};

struct WaitCase {
    const char* name;
    std::function<Waiting(Scene&)> begin;
    // The text of the library and the daemon.
    const char* told;
    // The text of pacectl job show. Empty means nothing.
    const char* shown;
};

constexpr const char* kOther = "worker 1 on node node1";

template <typename Call>
WaitCase round_of(const char* name, const std::string& policy, Call call, const Tune& tune = {}) {
    return {name,
            [=](Scene& scene) {
                Worker& worker = scene.open_both(policy, tune);
                return Waiting{worker, call(worker)};
            },
            kOther, "rank 0 for rank 1 (round 0)"};
}

template <typename Call>
WaitCase before_all_have_joined(const char* name, Call call) {
    return {name,
            [=](Scene& scene) {
                ServerJob job;
                job.name = "test";
                job.world = 2;
                scene.served.push_back(
                    std::make_unique<ServerWorker>(scene.cluster.endpoint(0), job, 0));
                ServerWorker& worker = *scene.served.back();
                return Waiting{worker.session(), call(worker)};
            },
            "all 2 workers to join (pacectl job show test", "1"};
}

WaitCase average_in(const char* name, const std::string& policy, const char* told,
                    const char* shown) {
    return {name,
            [=](Scene& scene) {
                Worker& worker = scene.open_both(policy);
                return Waiting{worker, worker.average(1)};
            },
            told, shown};
}

Waiting begin_pull(Scene& scene) {
    ServerJob job;
    job.name = "test";
    job.policy = PACE_POLICY_BSP;
    job.rate = "dynamic";
    scene.served = open_workers(scene.cluster, job, {0, 1});
    std::vector<pace_request> requests;
    for (const auto& worker : scene.served) requests.push_back(worker->broadcast(0));
    for (size_t i = 0; i < requests.size(); ++i) scene.served[i]->finish(requests[i]);
    ServerWorker& worker = *scene.served.front();
    worker.finish(worker.push(0));
    return Waiting{worker.session(), worker.pull(1)};
}

Waiting begin_newcomers_broadcast(Scene& scene) {
    scene.open_both(PACE_POLICY_ALL_REDUCE);
    scene.broadcast();
    scene.close(1);
    Worker& worker = scene.open(1, PACE_POLICY_ALL_REDUCE);
    return Waiting{worker, worker.broadcast(0), 1};
}

std::vector<WaitCase> cases() {
    return {
        average_in("PartialReduce", PACE_POLICY_PARTIAL_REDUCE, "pacectl job show test names",
                   "rank 0 for rank 1 (a group)"),
        average_in("Planned", PACE_POLICY_PRAGUE_RANDOM, "pacectl job show test names",
                   "rank 0 for rank 1 (a group that was named)"),
        average_in("Static", PACE_POLICY_PRAGUE_STATIC, kOther, ""),
        round_of("Reduce", PACE_POLICY_ALL_REDUCE, [](Worker& worker) { return worker.reduce(); }),
        round_of(
            "QuorumReduce", PACE_POLICY_ALL_REDUCE, [](Worker& worker) { return worker.reduce(); },
            [](AskedSession& job) {
                job.set(PACE_OPT_QUORUM, "count");
                job.set(PACE_OPT_QUORUM_COUNT, 2);
            }),
        round_of("Broadcast", PACE_POLICY_ALL_REDUCE,
                 [](Worker& worker) { return worker.broadcast(1); }),
        round_of("Barrier", PACE_POLICY_ALL_REDUCE,
                 [](Worker& worker) { return worker.barrier(); }),
        round_of("Sync", PACE_POLICY_PARTIAL_REDUCE, [](Worker& worker) { return worker.sync(); }),
        before_all_have_joined("Push", [](ServerWorker& worker) { return worker.push(0); }),
        before_all_have_joined("Checkpoint",
                               [](ServerWorker& worker) { return worker.checkpoint(); }),
        {"Pull", begin_pull, "worker 1 on node1, which is at step 0",
         "rank 0 for rank 1 (the model"},
        {"NewcomersBroadcast", begin_newcomers_broadcast,
         "the model of worker 0 on node0, which gives it with its next call", ""},
    };
}

class Waits : public testing::TestWithParam<WaitCase> {};

TEST_P(Waits, AreNamedByTheLibraryTheLogAndPacectl) {
    Scene scene;
    Cluster& cluster = scene.cluster;
    const Waiting waiting = GetParam().begin(scene);
    const std::string told = GetParam().told;
    const auto deadline = soon();
    std::string said;
    while (said.find(told) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
        ASSERT_EQ(waiting.worker.wait(waiting.request, 200), PACE_TIMEOUT)
            << waiting.worker.complaint() << cluster.logs();
        said = waiting.worker.complaint();
    }
    ASSERT_NE(said.find(told), std::string::npos) << said << cluster.logs();
    pace_error error{};
    EXPECT_EQ(
        pace_request_test(waiting.worker.session(), waiting.request, nullptr, nullptr, &error),
        PACE_PENDING);
    EXPECT_NE(std::string(error.message).find(told), std::string::npos) << error.message;
    EXPECT_TRUE(cluster.wait_until_said(Cluster::name(waiting.node), told, 1, deadline))
        << cluster.logs();
    const std::string daemon = cluster.pacectl(waiting.node, {"daemon"});
    EXPECT_NE(daemon.find(told), std::string::npos) << daemon;
    std::string shown;
    do {
        shown = cluster.pacectl(waiting.node, {"job", "show", "test"});
    } while (shown.find(GetParam().shown) == std::string::npos &&
             std::chrono::steady_clock::now() < deadline);
    EXPECT_NE(shown.find(GetParam().shown), std::string::npos) << shown;
    EXPECT_NE(shown.find(told), std::string::npos) << shown;
}

INSTANTIATE_TEST_SUITE_P(All, Waits, testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pace::cluster
