// Rerun tests: the state of a call whose daemon died, and of a job whose workers all died.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/cluster/harness/crew.h"
#include "tests/cluster/harness/faults.h"

namespace pace::cluster {
namespace {

bool complains_of(const Worker& worker, const char* word) {
    return worker.complaint().find(word) != std::string::npos;
}

// The daemon is killed at a moment that is drawn, often while it writes the result.
TEST(Rejoin, ARequestThatItsDaemonLeftSaysWhatItsBuffersHold) {
    Cluster cluster({.nodes = 1});
    base::Random random(test_seed());
    constexpr uint64_t kElements = 4'000'000;
    std::array<int, 3> seen{};
    for (int time = 0; time < 8; ++time) {
        const std::string job = "job" + std::to_string(time);
        Crew crew(cluster, {.nodes = {0, 0}, .elements = kElements, .job = job});
        std::array<float*, 2> data{};
        for (size_t rank = 0; rank < 2; ++rank) {
            pace_buffer_info info = PACE_BUFFER_INFO_INIT;
            Worker& worker = crew.worker(rank);
            ASSERT_EQ(pace_buffer_get_info(worker.session(), worker.buffers()[0], &info, nullptr),
                      PACE_OK);
            data[rank] = static_cast<float*>(info.data);
        }
        const pace_request one = crew.call(0, 1);
        const pace_request two = crew.call(1, 2);
        for (uint64_t turn = random.below(time < 2 ? 1 : 60); turn > 0; --turn) sched_yield();
        cluster.daemon(0).signal(SIGKILL);
        for (size_t rank = 0; rank < 2; ++rank) {
            Worker& worker = crew.worker(rank);
            const pace_status status = worker.wait(rank == 0 ? one : two);
            const int32_t contents =
                status == PACE_OK ? int32_t{PACE_CONTENTS_RESULT} : worker.info().contents;
            ASSERT_TRUE(status == PACE_OK || status == PACE_E_DAEMON_GONE) << worker.complaint();
            ++seen.at(static_cast<size_t>(contents));
            const auto own = static_cast<float>(rank + 1);
            const auto is_own = std::count(data[rank], data[rank] + kElements, own);
            const auto is_sum = std::count(data[rank], data[rank] + kElements, 3.0F);
            EXPECT_EQ(is_own + is_sum, static_cast<ptrdiff_t>(kElements));
            EXPECT_TRUE(contents != PACE_CONTENTS_AS_CALLED || is_sum == 0) << is_sum;
            EXPECT_TRUE(contents != PACE_CONTENTS_RESULT || is_own == 0) << is_own;
        }
        ASSERT_TRUE(cluster.daemon(0).wait(soon()));
        cluster.start_daemon(0);
    }
    std::printf("as called %d, torn %d, whole %d\n", seen[0], seen[1], seen[2]);
}

const std::vector<std::string> kEndless{"--mode",  "average",    "--group-size", "2",
                                        "--steps", "1000000000", "--step-us",    "1000"};
void kill_all(std::vector<Process>& trainers) {
    for (Process& trainer : trainers) trainer.signal(SIGKILL);
    for (Process& trainer : trainers) ASSERT_TRUE(trainer.wait(soon()));
}

// Returns the endpoint of a daemon of this name in the process that opens it.
std::string host_of(const Cluster& cluster, const std::string& name) {
    const std::string file = cluster.directory() + "/" + name + ".toml";
    std::ofstream(file) << "controller = \"" << cluster.controller_endpoint() << "\"\n"
                        << "data_interface = \"lo\"\n"
                        << "name = \"" << name << "\"\n";
    return "embedded:" + file;
}

std::vector<std::string> trainer_of(const std::string& endpoint, int rank) {
    std::vector<std::string> arguments{TRAINER,  "--endpoint",        endpoint, "--world", "2",
                                       "--rank", std::to_string(rank)};
    arguments.insert(arguments.end(), kEndless.begin(), kEndless.end());
    return arguments;
}

// Two workers open the job, the second a while after the first. They train together from the model
// of the first.
void expect_a_new_run(Cluster& cluster, const std::vector<std::string>& endpoints) {
    WorkerOptions options{.endpoint = endpoints[0],
                          .world = 2,
                          .policy = PACE_POLICY_PARTIAL_REDUCE,
                          .group_size = 2};
    Worker first(options);
    ASSERT_EQ(first.opened(), PACE_OK) << first.complaint();
    pace_session_info info = PACE_SESSION_INFO_INIT;
    ASSERT_EQ(pace_session_get_info(first.session(), &info, nullptr), PACE_OK);
    EXPECT_EQ(info.run_state, uint32_t{PACE_RUN_NEW});
    EXPECT_NE(info.run_began, 0U);
    first.add_floats(1000, 3);
    const pace_request broadcast = first.broadcast(0);
    EXPECT_EQ(first.wait(broadcast, kMomentMs), PACE_TIMEOUT) << "it does not begin alone";
    options.rank = 1;
    options.endpoint = endpoints[1];
    Worker second(options);
    ASSERT_EQ(second.opened(), PACE_OK) << second.complaint();
    const float* model = second.add_floats(1000, 5);
    second.finish(second.broadcast(0));
    first.finish(broadcast);
    EXPECT_EQ(model[0], 3);
    pace_session_info other = PACE_SESSION_INFO_INIT;
    ASSERT_EQ(pace_session_get_info(second.session(), &other, nullptr), PACE_OK);
    EXPECT_EQ(other.run_began, info.run_began);
    const pace_request average = first.average(1);
    second.finish(second.average(1));
    first.finish(average);
    EXPECT_EQ(first.info().member_count, 2U);
    EXPECT_NE(cluster.logs().find("job-rerun"), std::string::npos);
}

// The whole job is killed and run again. Its second worker comes a while after its first.
TEST(Rerun, OfAJobWhoseWorkersAllDiedTrainsWithAllOfThem) {
    Cluster cluster({.nodes = 2});
    {
        auto trainers = cluster.trainers(2, kEndless);
        let_step(trainers[0], 10, cluster);
        kill_all(trainers);
        // One of the two daemons may see the deaths only after the next trainer comes.
        EXPECT_TRUE(cluster.wait_until_said("controller", "worker-died", 2, soon()));
    }
    expect_a_new_run(cluster, {cluster.endpoint(0), cluster.endpoint(1)});
}

// A trainer takes the daemon that it hosts along. So nobody tells the controller which worker has
// died.
TEST(Rerun, OfAJobWhoseTrainersHostTheirDaemonsTrainsWithAllOfThem) {
    setenv("PACE_LIBPACED", LIBPACED, 1);
    Cluster cluster({.nodes = 0});
    {
        std::vector<Process> trainers;
        for (int rank = 0; rank < 2; ++rank)
            trainers.emplace_back(
                trainer_of(host_of(cluster, "first" + std::to_string(rank)), rank),
                cluster.directory() + "/trainers.log",
                std::vector<std::string>{std::string("PACE_LIBPACED=") + LIBPACED});
        for (Process& trainer : trainers) let_step(trainer, 10, cluster);
        kill_all(trainers);
    }
    expect_a_new_run(cluster, {host_of(cluster, "again0"), host_of(cluster, "again1")});
}

// Nobody sees the workers die. The controller waits for them when it is back.
TEST(Rerun, AfterAPowerFailureTrainsWithAllOfThem) {
    Cluster cluster(
        {.nodes = 2, .controller_flags = {"--liveness-max-ms", "500", "--liveness-min-ms", "250"}});
    {
        auto trainers = cluster.trainers(2, kEndless);
        let_step(trainers[0], 10, cluster);
        cluster.kill_controller();
        for (size_t node = 0; node < 2; ++node) cluster.daemon(node).signal(SIGKILL);
        kill_all(trainers);
    }
    for (size_t node = 0; node < 2; ++node) ASSERT_TRUE(cluster.daemon(node).wait(soon()));
    cluster.start_controller();
    for (size_t node = 0; node < 2; ++node) cluster.start_daemon(node);
    expect_a_new_run(cluster, {cluster.endpoint(0), cluster.endpoint(1)});
}

TEST(Rerun, OfAnotherIdentityIsToldHowToEndTheJobThatAPowerFailureLeft) {
    Cluster cluster({.nodes = 1});
    {
        auto trainers = cluster.trainers(1, kEndless);
        let_step(trainers[0], 10, cluster);
        cluster.kill_controller();
        cluster.daemon(0).signal(SIGKILL);
        kill_all(trainers);
    }
    ASSERT_TRUE(cluster.daemon(0).wait(soon()));
    cluster.start_controller();
    cluster.start_daemon(0);
    const auto open = [&cluster](uint32_t connect_ms) {
        return Worker({.endpoint = cluster.endpoint(0),
                       .policy = PACE_POLICY_PARTIAL_REDUCE,
                       .connect_ms = connect_ms,
                       .tune = [](AskedSession& job) { job.run = "tuesday"; }});
    };
    const Worker hasty = open(200);
    EXPECT_EQ(hasty.opened(), PACE_E_TAKEN);
    EXPECT_TRUE(complains_of(hasty, "pacectl job delete test")) << hasty.complaint();
    cluster.pacectl(0, {"job", "delete", "test"});
    const Worker next = open(20000);
    EXPECT_EQ(next.opened(), PACE_OK) << next.complaint();
}

// The daemon has seen its trainers die, and has recorded it.
TEST(Rerun, UnderTheOnlyDaemonThatWasRestartedMeanwhileTrainsWithAllOfThem) {
    Cluster cluster({.nodes = 1, .controller = false, .journal = true});
    {
        auto trainers = cluster.trainers(2, kEndless);
        let_step(trainers[0], 10, cluster);
        kill_all(trainers);
    }
    ASSERT_TRUE(cluster.wait_until_said(Cluster::name(0), "worker-died", 2, soon()));
    cluster.daemon(0).signal(SIGKILL);
    ASSERT_TRUE(cluster.daemon(0).wait(soon()));
    cluster.start_daemon(0);
    expect_a_new_run(cluster, {cluster.endpoint(0), cluster.endpoint(0)});
}

// The daemon has not seen its trainers die, because it died before them.
TEST(Rerun, UnderTheOnlyDaemonThatDiedBeforeItsTrainersTrainsWithAllOfThem) {
    Cluster cluster({.nodes = 1, .controller = false, .journal = true});
    {
        auto trainers = cluster.trainers(2, kEndless);
        let_step(trainers[0], 10, cluster);
        cluster.daemon(0).signal(SIGKILL);
        kill_all(trainers);
    }
    ASSERT_TRUE(cluster.daemon(0).wait(soon()));
    cluster.start_daemon(0);
    expect_a_new_run(cluster, {cluster.endpoint(0), cluster.endpoint(0)});
}

// The test imitates Ctrl-C in a language that runs its handlers between two calls.
TEST(Interruption, EndsAWaitForAWorkerThatNeverJoins) {
    Cluster cluster({.nodes = 1});
    Worker alone({.endpoint = cluster.endpoint(0), .world = 2, .wait_flags = PACE_WAIT_SIGNALS});
    ASSERT_EQ(alone.opened(), PACE_OK) << alone.complaint();
    alone.add_floats(10, 1);
    const pace_request request = alone.reduce();
    static volatile std::sig_atomic_t handled = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { handled = 1; };
    struct sigaction before {};
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
    const pthread_t waiting = pthread_self();
    std::thread user([waiting] { pthread_kill(waiting, SIGUSR1); });
    pace_status status = PACE_INTERRUPTED;
    while (status == PACE_INTERRUPTED && handled == 0) status = alone.wait(request, PACE_FOREVER);
    user.join();
    EXPECT_EQ(status, PACE_INTERRUPTED) << alone.complaint();
    // The status names the worker that the call waits for. The log names it, too, when the wait has
    // taken long.
    EXPECT_NE(cluster.pacectl(0, {"status"}).find("waits for rank 1 to join"), std::string::npos);
    const Deadline deadline = soon();
    while (cluster.logs().find("all 2 workers to join") == std::string::npos) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << cluster.logs();
        ASSERT_NE(alone.wait(request, 200), PACE_OK);
    }
    EXPECT_EQ(alone.cancel(request), PACE_OK);
    status = PACE_INTERRUPTED;
    while (status == PACE_INTERRUPTED) status = alone.wait(request, PACE_FOREVER);
    EXPECT_EQ(status, PACE_CANCELED);
    sigaction(SIGUSR1, &before, nullptr);
}

uint32_t run_state_of(const Worker& worker) {
    pace_session_info info = PACE_SESSION_INFO_INIT;
    EXPECT_EQ(pace_session_get_info(worker.session(), &info, nullptr), PACE_OK);
    return info.run_state;
}

TEST(Rerun, WhoJoinsIsToldWhetherTheRunIsNewUnderWayOrResumed) {
    Cluster cluster({.nodes = 1});
    const auto open = [&cluster](uint32_t rank) {
        return std::make_unique<Worker>(
            WorkerOptions{.endpoint = cluster.endpoint(0),
                          .rank = rank,
                          .world = 2,
                          .policy = PACE_POLICY_PARTIAL_REDUCE,
                          .group_size = 2,
                          .tune = [](AskedSession& job) { job.run = "monday"; }});
    };
    auto first = open(0);
    auto second = open(1);
    EXPECT_EQ(run_state_of(*first), uint32_t{PACE_RUN_NEW});
    EXPECT_EQ(run_state_of(*second), uint32_t{PACE_RUN_NEW});
    second->drop();
    second = open(1);
    EXPECT_EQ(run_state_of(*second), uint32_t{PACE_RUN_UNDER_WAY}) << second->complaint();
    first->drop();
    second->drop();
    first = open(0);
    ASSERT_EQ(first->opened(), PACE_OK) << first->complaint();
    EXPECT_EQ(run_state_of(*first), uint32_t{PACE_RUN_RESUMED});
}

TEST(Rerun, IsRefusedWhileWorkersOfAnotherRunLiveAndNamesBoth) {
    Cluster cluster({.nodes = 1});
    const auto of_run = [](const char* run) {
        return [run](AskedSession& job) {
            job.run = run;
            job.connect_ms = 500;
        };
    };
    const Worker lives(
        {.endpoint = cluster.endpoint(0), .rank = 0, .world = 2, .tune = of_run("monday")});
    ASSERT_EQ(lives.opened(), PACE_OK) << lives.complaint();
    const Worker other(
        {.endpoint = cluster.endpoint(0), .rank = 1, .world = 2, .tune = of_run("tuesday")});
    EXPECT_EQ(other.opened(), PACE_E_TAKEN);
    EXPECT_TRUE(complains_of(other, "monday") && complains_of(other, "tuesday"))
        << other.complaint();
    pace_session_info info = PACE_SESSION_INFO_INIT;
    ASSERT_EQ(pace_session_get_info(lives.session(), &info, nullptr), PACE_OK);
    EXPECT_STREQ(info.run, "monday");
}

}  // namespace
}  // namespace pace::cluster
