// Rejoin tests: the daemon or process of a worker was restarted. The worker is told that it lacks
// rounds. It then gets the model, or is told that no worker can give it.
#include <csignal>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/cluster/harness/crew.h"
#include "tests/cluster/harness/faults.h"

namespace pace::cluster {
namespace {

// The time is longer than anything here takes, and far shorter than an endless wait for each other.
constexpr int64_t kSoonMs = 10000;

void restart_daemon(Cluster& cluster, size_t node) {
    cluster.daemon(node).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(node).wait(soon()));
    cluster.start_daemon(node);
}

bool says(const Worker& worker, const char* word) {
    return worker.complaint().find(word) != std::string::npos;
}

// The donor gives its model when it calls. While the donor is alone in its view, it may call
// several times before the newcomer is in the view.
void adopt_and_reduce(Crew& crew, size_t newcomer, size_t donor, double model) {
    const pace_request asked = crew.worker(newcomer).broadcast(0);
    const Deadline deadline = soon();
    pace_request call = crew.call(donor, model);
    while (crew.worker(donor).wait(call, kMomentMs) == PACE_OK) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        call = crew.call(donor, model);
    }
    ASSERT_EQ(crew.worker(newcomer).wait(asked, kSoonMs), PACE_OK)
        << crew.worker(newcomer).complaint();
    EXPECT_EQ(crew.value(newcomer), model) << "the donor's buffer at its call";
    const pace_request own = crew.call(newcomer, 7);
    crew.worker(donor).finish(call);
    crew.worker(newcomer).finish(own);
    EXPECT_EQ(crew.value(donor), model + 7);
    EXPECT_EQ(crew.value(newcomer), model + 7);
}

// The worker computes while its daemon is restarted and the others go on. The worker sees nothing
// of that.
TEST(Rejoin, AWorkerThatMissedRoundsBetweenItsCallsIsToldSo) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 1}});
    crew.everyone([](Worker& worker) { return worker.broadcast(0); });
    crew.everyone([](Worker& worker) { return worker.reduce(); });
    restart_daemon(cluster, 1);
    for (int round = 0; round < 3; ++round) crew.reduce(0, 5);
    ASSERT_EQ(crew.worker(1).wait(crew.call(1, 7), kSoonMs), PACE_STALE)
        << crew.worker(1).complaint();
    EXPECT_TRUE(says(crew.worker(1), "pace_broadcast")) << crew.worker(1).complaint();
    adopt_and_reduce(crew, 1, 0, 5);
}

// This is the only daemon. No worker has gone on meanwhile, but it is no longer known which worker
// has which result.
TEST(Rejoin, WorkersOfTheOnlyDaemonAreToldAndAgreeOnOneModel) {
    Cluster cluster({.nodes = 1});
    Crew crew(cluster, {.nodes = {0, 0}});
    crew.everyone([](Worker& worker) { return worker.broadcast(0); });
    crew.everyone([](Worker& worker) { return worker.reduce(); });
    restart_daemon(cluster, 0);
    std::vector<pace_request> requests;
    for (size_t rank = 0; rank < 2; ++rank) requests.push_back(crew.call(rank, 1));
    for (size_t rank = 0; rank < 2; ++rank)
        EXPECT_EQ(crew.worker(rank).wait(requests[rank], kSoonMs), PACE_STALE)
            << crew.worker(rank).complaint();
    for (size_t rank = 0; rank < 2; ++rank) crew.set(rank, static_cast<double>(rank + 1));
    crew.worker(0).finish(crew.worker(0).broadcast(0));
    EXPECT_EQ(crew.value(0), 1) << "nobody else is there: it keeps its own";
    adopt_and_reduce(crew, 1, 0, 3);
}

// Only the trainers still know of the job. Their models may differ by a round.
TEST(Rejoin, WorkersOfAJobThatNobodyRemembersAreToldAndAgreeOnOneModel) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 1}});
    crew.everyone([](Worker& worker) { return worker.broadcast(0); });
    crew.everyone([](Worker& worker) { return worker.reduce(); });
    cluster.kill_controller();
    cluster.lose_journal();
    for (size_t node = 0; node < 2; ++node) {
        cluster.daemon(node).signal(SIGKILL);
        ASSERT_TRUE(cluster.daemon(node).wait(soon()));
    }
    cluster.start_controller();
    for (size_t node = 0; node < 2; ++node) cluster.start_daemon(node);
    std::vector<pace_request> requests;
    for (size_t rank = 0; rank < 2; ++rank) requests.push_back(crew.call(rank, 1));
    for (size_t rank = 0; rank < 2; ++rank)
        EXPECT_EQ(crew.worker(rank).wait(requests[rank], kSoonMs), PACE_STALE)
            << crew.worker(rank).complaint();
    for (size_t rank = 0; rank < 2; ++rank) crew.set(rank, static_cast<double>(rank + 1));
    crew.everyone([](Worker& worker) { return worker.broadcast(0); });
    for (size_t rank = 0; rank < 2; ++rank) EXPECT_EQ(crew.value(rank), 1);
    crew.everyone([](Worker& worker) { return worker.reduce(); });
}

// The daemon, the controller and a trainer of the daemon are restarted, one after the other.
TEST(Rejoin, ADonorWhoseDaemonWasRestartedIsKnownToHaveNoModelAlsoToTheNextController) {
    Cluster cluster({.nodes = 2});
    const std::vector<std::string> flags{"--mode",       "reduce", "--steps",    "1000000000",
                                         "--step-us",    "1000",   "--elements", "20000",
                                         "--connect-ms", "5000"};
    auto trainers = cluster.trainers(4, flags);
    let_step(trainers[0], 20, cluster);
    restart_daemon(cluster, 1);
    for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    cluster.kill_controller();
    cluster.start_controller();
    for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    trainers[3].signal(SIGKILL);
    ASSERT_TRUE(trainers[3].wait(soon()));
    trainers[3] = start_again(cluster, 1, 3, 4, flags);
    for (Process& trainer : trainers) let_step(trainer, 20, cluster);
    expect_no_line(trainers, "outcome PACE_E_MISMATCH");
    expect_no_line(trainers, "wrong");
}

// The newcomer's broadcast and the others' reduce must not wait for each other.
TEST(Rejoin, ANewcomerOfAJobThatNeverBroadcastIsToldThatNobodyHasAModel) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 1, 1}});
    for (int round = 0; round < 3; ++round)
        crew.everyone([](Worker& worker) { return worker.reduce(); });
    crew.leave(0);
    const WorkerOptions options{.endpoint = cluster.endpoint(0), .rank = 0, .world = 3};
    Worker again(options);
    ASSERT_EQ(again.opened(), PACE_OK) << again.complaint();
    const float* data = again.add_floats(1000, 4);
    EXPECT_EQ(again.wait(again.reduce(), kSoonMs), PACE_STALE) << again.complaint();
    const pace_request asked = again.broadcast(0);
    const pace_request others = crew.call(1, 1);
    crew.reduce(2, 1);
    crew.worker(1).finish(others);
    EXPECT_EQ(crew.value(1), 2);
    EXPECT_EQ(again.wait(asked, kSoonMs), PACE_E_NOT_FOUND) << again.complaint();
    EXPECT_TRUE(says(again, "lacks rounds") && says(again, "pace_broadcast")) << again.complaint();
    // The worker goes on with its own model, since it knows.
    const pace_request mine = again.reduce();
    EXPECT_EQ(again.wait(mine, kMomentMs), PACE_TIMEOUT);
    const pace_request one = crew.call(1, 1);
    const pace_request two = crew.call(2, 1);
    again.finish(mine);
    crew.worker(1).finish(one);
    crew.worker(2).finish(two);
    EXPECT_EQ(data[0], 6);
}

// The worker comes back before there was any round. Then it waits for the first round with all
// workers.
TEST(Rejoin, ANewcomerBeforeTheFirstRoundTakesPartInItsBroadcast) {
    Cluster cluster({.nodes = 2});
    Crew crew(cluster, {.nodes = {0, 1, 1}});
    crew.leave(0);
    Worker again({.endpoint = cluster.endpoint(0), .rank = 0, .world = 3});
    ASSERT_EQ(again.opened(), PACE_OK) << again.complaint();
    again.add_floats(1000, 4);
    const pace_request mine = again.broadcast(0);
    EXPECT_EQ(again.wait(mine, kMomentMs), PACE_TIMEOUT);
    const pace_request one = crew.worker(1).broadcast(0);
    const pace_request two = crew.worker(2).broadcast(0);
    again.finish(mine);
    crew.worker(1).finish(one);
    crew.worker(2).finish(two);
    EXPECT_EQ(crew.value(1), 4);
    EXPECT_EQ(crew.value(2), 4);
}

// State that is kept for a worker that died is not kept for a worker that has left.
TEST(Rejoin, ASessionThatIsFreedWithoutLeavingIsAWorkerThatDied) {
    for (const bool leaves : {false, true}) {
        Cluster cluster({.nodes = 1});
        WorkerOptions options{.endpoint = cluster.endpoint(0), .world = 2};
        Worker stays(options);
        options.rank = 1;
        {
            Worker goes(options);
            ASSERT_EQ(goes.opened(), PACE_OK) << goes.complaint();
            goes.add_floats(1000, 5);
            if (!leaves) goes.drop();
        }
        Worker again(options);
        ASSERT_EQ(again.opened(), PACE_OK) << again.complaint();
        const auto* data = static_cast<const float*>(again.add_buffer(PACE_F32, 1000));
        ASSERT_NE(data, nullptr) << again.complaint();
        EXPECT_EQ(data[999], leaves ? 0 : 5);
    }
}

// Two trainers average, and their daemon is upgraded. One trainer goes on by itself. The other is
// started anew and asks for the model.
class Upgrade : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(WhoIsFirst, Upgrade, testing::Bool(), [](const auto& first) {
    return std::string(first.param ? "TheOneThatAsks" : "TheOneThatGoesOn");
});

TEST_P(Upgrade, OneGoesOnAndTheOtherGetsItsModel) {
    Cluster cluster({.nodes = 1});
    WorkerOptions options{.endpoint = cluster.endpoint(0),
                          .world = 2,
                          .policy = PACE_POLICY_PARTIAL_REDUCE,
                          .group_size = 2};
    Worker stays(options);
    options.rank = 1;
    auto leaves = std::make_unique<Worker>(options);
    float* model = stays.add_floats(1000, 8);
    leaves->add_floats(1000, 8);
    const pace_request first = stays.broadcast(0);
    leaves->finish(leaves->broadcast(0));
    stays.finish(first);
    cluster.daemon(0).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(0).wait(soon()));
    leaves.reset();
    cluster.start_daemon(0);

    pace_request average{};
    if (!GetParam()) average = stays.average(10);
    Worker again(options);
    ASSERT_EQ(again.opened(), PACE_OK) << again.complaint();
    const float* got = again.add_floats(1000, -100);
    const pace_request asked = again.broadcast(0);
    if (GetParam()) average = stays.average(10);
    ASSERT_EQ(again.wait(asked, kSoonMs), PACE_OK) << again.complaint() << cluster.state();
    EXPECT_EQ(got[999], 8);
    again.finish(again.average(again.info().iteration));
    stays.finish(average);
    EXPECT_EQ(model[0], 8);
}

}  // namespace
}  // namespace pace::cluster
