// Lateness: steps measured from heartbeats, by the sign for the kind of job.
#include "service/controller/core/members/lateness.h"

#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

JobOptions late_job(uint32_t world) {
    JobOptions options = reducing(world);
    options.quorum = Quorum::majority;
    return options;
}

// A heartbeat of rank 0 that finds it computing.
WorkerReport report(uint64_t rounds, uint64_t calls, milliseconds computed) {
    return {.job = 1,
            .rank = 0,
            .iteration = calls,
            .rounds_submitted = rounds,
            .busy_ms = 1,
            .stopped = false,
            .calls = calls,
            .computed_us = static_cast<uint64_t>(computed.count()) * 1000};
}

TEST(Lateness, StepsShowInSignalsRoundsOrCalls) {
    EXPECT_EQ(step_sign_of(averaging(4)), StepSign::signals);
    EXPECT_EQ(step_sign_of(reducing(4)), StepSign::rounds);
    EXPECT_EQ(step_sign_of(late_job(4)), StepSign::calls);
}

// A worker is ten times slower than the others, whose rounds continue without it.
TEST(Lateness, AStepOfALateWorkerIsNotARoundOfTheOthers) {
    Worker by_rounds;
    Worker by_calls;
    TimePoint now{seconds(1000)};
    for (uint64_t round = 1; round <= 100; ++round) {
        now += milliseconds(100);
        observe(by_rounds, report(round, round, milliseconds(100) * round), StepSign::rounds, now);
        observe(by_calls, report(round, round / 10, seconds(1) * (round / 10)), StepSign::calls,
                now);
    }
    EXPECT_EQ(by_rounds.steps.median(), milliseconds(100));
    EXPECT_EQ(by_calls.steps.median(), seconds(1));
    EXPECT_EQ(by_calls.rounds_submitted, 100U);
    EXPECT_EQ(by_calls.iteration, 10U);
}

TEST(Lateness, SeveralCallsBetweenTwoHeartbeatsShareTheirTime) {
    Worker worker;
    TimePoint now{seconds(1000)};
    observe(worker, report(0, 7, seconds(3)), StepSign::calls, now);
    now += milliseconds(100);
    observe(worker, report(0, 9, milliseconds(3100)), StepSign::calls, now);
    EXPECT_EQ(worker.steps.last(), milliseconds(50));
}

// Rank 0 computes 30 ms of every step of 100 ms, rank 1 90 ms. Heartbeats every 100 ms find both in
// the same moment of each step.
TEST(Lateness, InLockstepWhoComputesLongerIsTheSlowOneWheneverHeartbeatsCome) {
    for (const bool seen_computing : {true, false}) {
        CoreFixture cluster;
        const auto nodes = cluster.start(reducing(2));
        for (uint64_t step = 1; step <= 50; ++step) {
            cluster.pass_hearing(milliseconds(100), nodes);
            const uint64_t busy_ms = seen_computing ? 20 : 0;
            cluster.send(from(
                nodes[0], Heartbeat{{{1, 0, step, step, busy_ms, false, step, step * 30'000}}}));
            cluster.send(from(
                nodes[1], Heartbeat{{{1, 1, step, step, busy_ms, false, step, step * 90'000}}}));
        }
        const JobView job = cluster.job();
        EXPECT_EQ(job.workers.at(0).step_median, milliseconds(30));
        EXPECT_EQ(job.workers.at(1).step_median, milliseconds(90));
        ASSERT_TRUE(job.slow);
        EXPECT_EQ(job.slow->rank, 1U);
        EXPECT_NEAR(job.slow->factor, 3, 0.01);
    }
}

TEST(Lateness, ADaemonThatWasRestartedCountsAnew) {
    Worker worker;
    TimePoint now{seconds(1000)};
    observe(worker, report(10, 10, seconds(100)), StepSign::rounds, now);
    observe(worker, report(11, 1, milliseconds(500)), StepSign::rounds, now);
    EXPECT_EQ(worker.steps.last(), milliseconds(500));
    observe(worker, report(12, 2, milliseconds(~uint32_t{0})), StepSign::rounds, now);
    EXPECT_GT(worker.steps.last(), seconds(0));
}

TEST(Lateness, OfAPartialJobIsJudgedByTheWorkersOwnSteps) {
    CoreFixture cluster;
    const auto nodes = cluster.start(late_job(2));
    // Rank 1 needs ten seconds a step, rank 0 one; rounds continue for both.
    for (uint64_t second = 1; second <= 120; ++second) {
        cluster.pass_hearing(seconds(1), nodes);
        cluster.send(from(nodes[0], Heartbeat{{{1, 0, second, second + 1, 1, false, second,
                                                second * 1'000'000}}}));
        cluster.send(from(nodes[1], Heartbeat{{{1, 1, second / 10, second, 1, false, second / 10,
                                                second / 10 * 10'000'000}}}));
    }
    const JobView job = cluster.job();
    EXPECT_EQ(job.workers.at(0).step_median, seconds(1));
    EXPECT_EQ(job.workers.at(1).step_median, seconds(10));
    ASSERT_TRUE(job.slow);
    EXPECT_EQ(job.slow->rank, 1U);
    // 31 s are no longer than its usual; more than ten of its steps are.
    cluster.clear();
    cluster.send(from(nodes[1], Heartbeat{{{1, 1, 12, 120, 31'000, false, 12}}}));
    EXPECT_TRUE(cluster.take<WorkerSuspended>().empty());
    cluster.send(from(nodes[1], Heartbeat{{{1, 1, 12, 120, 100'001, false, 12}}}));
    EXPECT_EQ(cluster.take<WorkerSuspended>().size(), 1U);
}

}  // namespace
}  // namespace pace::controller
