// What is left of a call whose daemon died, and of a job whose workers all did.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/random.h"
#include "crew.h"
#include "faults.h"

namespace pace::cluster {
namespace {

bool complains_of(const Worker& worker, const char* word) {
    return worker.complaint().find(word) != std::string::npos;
}

// Killed at a moment that is drawn, often while it writes the result.
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

// The whole job is killed and run again, its second worker a while after its first.
TEST(Rerun, OfAJobWhoseWorkersAllDiedTrainsWithAllOfThem) {
    Cluster cluster({.nodes = 2});
    const std::vector<std::string> flags{"--mode",  "average",    "--group-size", "2",
                                         "--steps", "1000000000", "--step-us",    "1000"};
    {
        auto trainers = cluster.trainers(2, flags);
        let_step(trainers[0], 10, cluster);
        for (Process& trainer : trainers) {
            trainer.signal(SIGKILL);
            ASSERT_TRUE(trainer.wait(soon()));
        }
    }
    WorkerOptions options{.endpoint = cluster.endpoint(0),
                          .world = 2,
                          .policy = PACE_POLICY_PARTIAL_REDUCE,
                          .group_size = 2};
    Worker first(options);
    ASSERT_EQ(first.opened(), PACE_OK) << first.complaint();
    pace_session_info info = PACE_SESSION_INFO_INIT;
    ASSERT_EQ(pace_session_get_info(first.session(), &info, nullptr), PACE_OK);
    EXPECT_EQ(info.under_way, 0U) << "it is of a new run";
    EXPECT_NE(info.run_began, 0U);
    first.add_floats(1000, 3);
    const pace_request broadcast = first.broadcast(0);
    EXPECT_EQ(first.wait(broadcast, kMomentMs), PACE_TIMEOUT) << "it does not begin alone";
    options.rank = 1;
    options.endpoint = cluster.endpoint(1);
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

// Ctrl-C, in a language that runs its handlers between two calls.
TEST(Interruption, EndsAWaitForAWorkerThatNeverJoins) {
    Cluster cluster({.nodes = 1});
    Worker alone({.endpoint = cluster.endpoint(0), .world = 2, .tune = [](pace_job_options& job) {
                      job.interruptible = 1;
                  }});
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
    // Whom it waits for is in the status, and, when that has taken long, in the log.
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

TEST(Rerun, IsRefusedWhileWorkersOfAnotherRunLiveAndNamesBoth) {
    Cluster cluster({.nodes = 1});
    const auto of_run = [](const char* run) {
        return [run](pace_job_options& job) {
            job.run_id = run;
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
