// Core status from reports: how workers spend their time, which are slow, and whether a job is
// over.
#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CoreToldTest : public testing::Test, public CoreFixture {
  protected:
    static WorkerReport report(Rank rank, uint64_t steps) {
        WorkerReport report;
        report.job = 1;
        report.rank = rank;
        report.calls = report.steps = report.times_called = report.rounds_submitted = steps;
        report.computed_us = 30'000 * steps;
        report.waited_us = 20'000 * steps;
        report.exchanged_us = 5'000 * steps;
        report.activity = Activity::computing;
        report.activity_ms = 3;
        return report;
    }
    void tell(NodeId node, const WorkerReport& report) { send(from(node, Heartbeat{{report}})); }
    WorkerView worker(Rank rank) const { return job().workers.at(rank); }
    size_t notes_of(const std::string& event) {
        size_t found = 0;
        for (const Note& note : sent<Note>()) found += note.event == event ? 1 : 0;
        return found;
    }
};

TEST_F(CoreToldTest, WhereTimeGoesIsToldForEveryFamily) {
    JobOptions reduce = reducing(2);
    JobOptions late = reducing(2);
    late.quorum = Quorum::majority;
    JobOptions fixed = averaging(2);
    fixed.policy = Policy::prague_static;
    JobOptions served = averaging(2);
    served.policy = Policy::ssp;
    served.elements = 10;
    for (const JobOptions& options : {reduce, late, fixed, served}) {
        CoreFixture::restart();
        const auto nodes = start(options);
        for (const uint64_t steps : {10U, 20U, 30U}) {
            pass_hearing(milliseconds(500), nodes);
            for (Rank rank = 0; rank < 2; ++rank) tell(nodes[rank], report(rank, steps));
        }
        for (Rank rank = 0; rank < 2; ++rank) {
            const WorkerView view = worker(rank);
            EXPECT_DOUBLE_EQ(view.computed.total_s, 0.9) << name_of(options.policy);
            EXPECT_DOUBLE_EQ(view.waited.total_s, 0.6);
            EXPECT_DOUBLE_EQ(view.exchanged.total_s, 0.15);
            EXPECT_EQ(view.computed.median, milliseconds(30));
            EXPECT_EQ(view.waited.median, milliseconds(20));
            EXPECT_EQ(view.exchanged.median, milliseconds(5));
            EXPECT_EQ(view.step_median, milliseconds(30));
            EXPECT_EQ(view.doing, Doing::computing);
            EXPECT_EQ(view.doing_for, milliseconds(3));
        }
    }
}

// Steps of rank 1 take three times as long. Daemons report the calls counted so far.
TEST_F(CoreToldTest, AStepIsShownRightWheneverHeartbeatsCome) {
    JobOptions fixed = averaging(2);
    fixed.policy = Policy::prague_static;
    JobOptions served = averaging(2);
    served.policy = Policy::ssp;
    served.elements = 10;
    for (const JobOptions& options : {reducing(2), averaging(2), fixed, served})
        for (const int step_ms : {7, 30, 250, 1000})
            for (const int heartbeat_ms : {100, 230, 1000}) {
                CoreFixture::restart();
                const auto nodes = start(options);
                for (int now_ms = heartbeat_ms / 3; now_ms < 60'000; now_ms += heartbeat_ms)
                    for (Rank rank = 0; rank < 2; ++rank) {
                        const int own_ms = rank == 0 ? step_ms : 3 * step_ms;
                        const auto steps = static_cast<uint64_t>(now_ms / own_ms);
                        WorkerReport told = report(rank, steps);
                        told.computed_us = steps * static_cast<uint64_t>(own_ms) * 1000;
                        tell(nodes[rank], told);
                    }
                const std::string which = std::string(name_of(options.policy)) + ", " +
                                          std::to_string(step_ms) + " ms, heartbeats of " +
                                          std::to_string(heartbeat_ms) + " ms";
                EXPECT_EQ(worker(0).step_median, milliseconds(step_ms)) << which;
                EXPECT_EQ(worker(0).step_last, milliseconds(step_ms)) << which;
                EXPECT_EQ(worker(1).step_median, milliseconds(3 * step_ms)) << which;
                ASSERT_TRUE(worker(1).slow) << which;
                EXPECT_DOUBLE_EQ(worker(1).slow->factor, 3) << which;
            }
}

TEST_F(CoreToldTest, AStoppedWorkerIsNamedWithItsHeartbeat) {
    const auto nodes = start(reducing(2));
    for (const uint64_t steps : {10U, 20U})
        for (Rank rank = 0; rank < 2; ++rank) tell(nodes[rank], report(rank, steps));
    clear();
    WorkerReport stopped = report(1, 20);
    stopped.stopped = true;
    tell(nodes[1], stopped);
    EXPECT_EQ(notes_of("worker-stopped"), 1U);
    pass_hearing(milliseconds(300), nodes);
    tell(nodes[1], stopped);
    EXPECT_EQ(worker(1).doing, Doing::stopped);
    ASSERT_TRUE(worker(1).slow);
    EXPECT_EQ(worker(1).slow->why, SlowWhy::stopped);
    EXPECT_EQ(worker(1).slow->since, milliseconds(300));
    EXPECT_FALSE(worker(0).slow);
    clear();
    tell(nodes[1], report(1, 20));
    EXPECT_EQ(notes_of("worker-goes-on"), 1U);
    EXPECT_FALSE(worker(1).slow);
}

// If heartbeats are as rare as many steps, no activity is shown for longer than the daemon has
// reported.
TEST_F(CoreToldTest, BetweenHeartbeatsNobodyIsThoughtToComputeOn) {
    const auto nodes = start(reducing(2));
    for (uint64_t steps = 10; steps < 100; steps += 10) {
        for (Rank rank = 0; rank < 2; ++rank) tell(nodes[rank], report(rank, steps));
        pass_hearing(milliseconds(1900), nodes);
        EXPECT_EQ(worker(0).doing_for, milliseconds(3));
        EXPECT_FALSE(worker(0).slow);
        EXPECT_FALSE(worker(1).slow);
    }
}

TEST_F(CoreToldTest, WhoWaitsIsToldForWhom) {
    const auto nodes = start(reducing(2));
    WorkerReport waits = report(0, 20);
    waits.rounds_submitted = 21;
    waits.activity = Activity::waiting;
    waits.activity_ms = 4000;
    WorkerReport computes = report(1, 20);
    computes.busy_ms = 1500;
    // No step is known yet by which the other worker would be slow.
    tell(nodes[0], waits);
    tell(nodes[1], computes);
    EXPECT_EQ(worker(0).doing, Doing::waiting);
    ASSERT_TRUE(worker(0).slow);
    EXPECT_EQ(worker(0).slow->why, SlowWhy::waiting);
    EXPECT_EQ(worker(0).slow->text, "it waits for rank 1 (round 20)");
}

TEST_F(CoreToldTest, AWorkerWhoseNodeIsLostIsUnreachable) {
    const auto nodes = start(averaging(2));
    for (Rank rank = 0; rank < 2; ++rank) tell(nodes[rank], report(rank, 5));
    send(NodeLost{nodes[1], "it said goodbye"});
    EXPECT_EQ(worker(0).doing, Doing::computing);
    EXPECT_EQ(worker(1).doing, Doing::unreachable);
    EXPECT_EQ(notes_of("worker-lost"), 1U);
}

// Rank 1 has more steps to make, and makes them as fast.
TEST_F(CoreToldTest, TheTimeLeftIsThatOfTheWorkerThatIsDoneLast) {
    const auto nodes = start(reducing(2));
    for (const uint64_t second : {1U, 2U, 3U, 4U}) {
        for (Rank rank = 0; rank < 2; ++rank) {
            WorkerReport told = report(rank, 10 * second);
            told.steps_done = second;
            told.steps_total = rank == 0 ? 100 : 200;
            told.steps_told_us = second * 1'000'000;
            tell(nodes[rank], told);
        }
    }
    ASSERT_TRUE(worker(1).steps);
    EXPECT_EQ(worker(1).steps->done, 4U);
    EXPECT_EQ(worker(1).steps->total, 200U);
    EXPECT_DOUBLE_EQ(worker(0).steps->left_s.value(), 96);
    ASSERT_TRUE(job().steps);
    EXPECT_EQ(job().steps->total, 200U);
    EXPECT_DOUBLE_EQ(job().steps->left_s.value(), 196);
    send(from(nodes[1], WorkerLeave{1, 1, true}));
    EXPECT_DOUBLE_EQ(job().steps->left_s.value(), 96) << "who has left is done";
}

TEST_F(CoreToldTest, WhatTopKKeepsBackIsTold) {
    const auto nodes = start(reducing(2));
    WorkerReport told = report(0, 1);
    told.has_residual = true;
    told.residual_bytes = 4096;
    told.residual_exchanges = 7;
    tell(nodes[0], told);
    EXPECT_FALSE(worker(1).residual);
    told.rank = 1;
    told.residual_exchanges = 3;
    tell(nodes[1], told);
    ASSERT_TRUE(worker(0).residual && job().residual);
    EXPECT_EQ(worker(0).residual->bytes, 4096U);
    EXPECT_EQ(worker(0).residual->exchanges, 7U);
    EXPECT_EQ(job().residual->bytes, 8192U);
    EXPECT_EQ(job().residual->exchanges, 7U);
    tell(nodes[0], report(0, 2));
    EXPECT_FALSE(worker(0).residual) << "another worker of the node tells it now";
    EXPECT_EQ(job().residual->exchanges, 3U);
}

TEST_F(CoreToldTest, ADaemonOfTheReleaseBeforeSaysLess) {
    const auto nodes = start(reducing(2));
    for (const uint64_t steps : {10U, 20U}) {
        WorkerReport old = report(0, steps);
        old.steps = old.times_called = old.waited_us = old.exchanged_us = old.activity_ms = 0;
        old.activity = Activity::unknown;
        old.busy_ms = 7;
        tell(nodes[0], old);
    }
    EXPECT_EQ(worker(0).step_median, milliseconds(30));
    EXPECT_EQ(worker(0).doing, Doing::computing);
    EXPECT_EQ(worker(0).doing_for, milliseconds(7));
    EXPECT_EQ(worker(0).waited.total_s, 0);
    EXPECT_FALSE(worker(0).steps);
    EXPECT_FALSE(worker(0).residual);
    EXPECT_FALSE(job().steps);
    EXPECT_FALSE(job().residual);
}

TEST_F(CoreToldTest, AJobIsJoiningThenRunningThenFinished) {
    const JobOptions options = averaging(2);
    const NodeId node = attach("node0");
    join(node, 0, options);
    EXPECT_EQ(job().stage, JobStage::joining);
    EXPECT_EQ(notes_of("job-created"), 1U);
    join(node, 1, options);
    EXPECT_EQ(job().stage, JobStage::running);
    EXPECT_EQ(notes_of("worker-joined"), 2U);
    send(from(node, WorkerLeave{1, 0, true}));
    EXPECT_EQ(job().stage, JobStage::running);
    send(from(node, WorkerLeave{1, 1, false}));
    pass_hearing(seconds(2), {node});
    EXPECT_EQ(job().stage, JobStage::finished);
    EXPECT_EQ(job().finished_for, seconds(2));
    EXPECT_EQ(notes_of("job-finished"), 1U);
    EXPECT_EQ(notes_of("worker-left"), 1U);
    EXPECT_EQ(notes_of("worker-died"), 1U);
}

TEST_F(CoreToldTest, EventsNameWhatTheyAreAbout) {
    const auto nodes = start(averaging(2));
    clear();
    send(from(nodes[1], WorkerLeave{1, 1, false}));
    const auto notes = sent<Note>();
    const auto died = std::find_if(notes.begin(), notes.end(),
                                   [](const Note& note) { return note.event == "worker-died"; });
    ASSERT_NE(died, notes.end());
    EXPECT_TRUE(died->warning);
    EXPECT_EQ(died->about.job, "job");
    EXPECT_EQ(died->about.rank, 1U);
    EXPECT_EQ(died->about.node, "node1");
    EXPECT_EQ(notes_of("view-changed"), 1U);
}

}  // namespace
}  // namespace pace::controller
