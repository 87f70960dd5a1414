// Server tests: parameter servers in real daemons. They check how pushes change the model, which
// worker waits for which, and what is refused.
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "capi/testing/calls.h"
#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/team.h"

namespace pace::cluster {
namespace {

struct Row {
    uint32_t worker;
    float update;
    float value;
};

// Follows Jiang et al., Appendix C, with four workers. A fifth worker, which pushes nothing, reads
// the model.
void follow_appendix_c(const std::string& rate, const std::vector<Row>& rows) {
    Cluster cluster({.nodes = 3});
    Team team(cluster,
              {.policy = PACE_POLICY_SSP,
               .rate = rate,
               .elements = 35,
               .shards = 7,
               .tune =
                   [rate](AskedSession& job) {
                       job.set(PACE_OPT_SERVER_STALENESS, 10);
                       if (rate == "constant") job.set(PACE_OPT_SERVER_CONSTANT_RATE, 0.25);
                   }},
              {0, 1, 2, 0, 1});
    std::vector<uint64_t> clock(5, 0);
    expect_model(team[4], 0, 0);
    for (const Row& row : rows) {
        ServerWorker& worker = team[row.worker];
        if (row.update == 0) {
            worker.finish(worker.pull(clock[row.worker]));
            EXPECT_EQ(worker.model(17), row.value);
            continue;
        }
        worker.set_update(row.update);
        worker.finish(worker.push(clock[row.worker]++));
        expect_model(team[4], 0, row.value);
    }
}

TEST(Server, DynSgdFollowsAppendixC) {
    follow_appendix_c("dynamic", {{0, 12, 12},
                                  {0, 8, 20},
                                  {1, 6, 17},
                                  {2, 3, 15},
                                  {0, 4, 19},
                                  {1, 0, 19},
                                  {3, -5, 16},
                                  {1, 10, 26},
                                  {1, 0, 26},
                                  {1, 20, 46}});
}

TEST(Server, SspSgdAddsUpdatesAndConSgdAShareOfEach) {
    follow_appendix_c("sum", {{0, 12, 12}, {1, 6, 18}, {3, -5, 13}});
    follow_appendix_c("constant", {{0, 12, 3}, {1, 6, 4.5F}, {3, -5, 3.25F}});
}

TEST(Server, TheFirstBroadcastIsTheModel) {
    Cluster cluster({.nodes = 2});
    Team team(cluster, {}, {0, 0, 1});
    team.broadcast(7);
    for (uint32_t rank = 0; rank < 3; ++rank) expect_model(team[rank], 0, 7);
    team[1].set_update(2);
    team[1].finish(team[1].push(0));
    expect_model(team[1], 1, 9);
    expect_model(team[2], 0, 9);
}

// All elements of an update are equal. So a model shows if some shards have the update and others
// do not.
TEST(Server, NoPullIsTornAndNothingIsLost) {
    constexpr uint64_t kSteps = 40;
    for (const uint32_t shards : {1U, 3U, 17U}) {
        Cluster cluster({.nodes = 3});
        Team team(cluster, {.elements = 2000, .shards = shards}, {0, 1, 2, 0, 1, 2});
        std::atomic<uint32_t> done = 0;
        team.everyone([&](ServerWorker& worker, uint32_t rank) {
            for (uint64_t clock = 0; clock < kSteps; ++clock) {
                worker.set_update(static_cast<float>(rank + 1));
                worker.finish(worker.push(clock));
                worker.finish(worker.pull(clock + 1));
                for (uint64_t i = 1; i < worker.elements(); ++i)
                    ASSERT_EQ(worker.model(i), worker.model(0)) << i;
            }
            ++done;
        });
        for (uint32_t rank = 0; rank < team.size(); ++rank) {
            team[rank].finish(team[rank].pull(kSteps));
            EXPECT_EQ(team[rank].model(0), kSteps * 21.0F) << "shards " << shards;
        }
    }
}

// Without partition synchronization a pull may be torn. In the end every update is in all shards,
// once.
TEST(Server, WithoutSynchronizationNothingIsLostEither) {
    constexpr uint64_t kSteps = 60;
    Cluster cluster({.nodes = 3});
    const ServerJob job{
        .policy = PACE_POLICY_SSP,
        .elements = 20000,
        .shards = 7,
        .tune = [](AskedSession& options) { options.set(PACE_OPT_SERVER_UNSYNCHRONIZED, 1); }};
    Team team(cluster, job, {0, 1, 2, 0, 1, 2});
    team.everyone([&](ServerWorker& worker, uint32_t rank) {
        worker.set_update(static_cast<float>(rank + 1));
        for (uint64_t clock = 0; clock < kSteps; ++clock) {
            worker.finish(worker.push(clock));
            worker.finish(worker.pull(clock + 1));
        }
    });
    for (uint32_t rank = 0; rank < team.size(); ++rank)
        expect_model(team[rank], kSteps, kSteps * 21.0F);
}

TEST(Server, SparseUpdatesAndRangesCountAsTheDenseOnes) {
    Cluster cluster({.nodes = 2});
    Team team(cluster, {.rate = "dynamic", .elements = 40, .shards = 3}, {0, 1});
    team[0].finish(team[0].push_sparse(0, {0, 13, 14, 39}, {1, 2, 3, 4}));
    std::vector<float> range(ServerWorker::kRange);
    for (size_t i = 0; i < range.size(); ++i) range[i] = static_cast<float>(i + 1);
    team[0].finish(team[0].push_range(1, 10, range));
    team[0].finish(team[0].push_sparse(2, {}, {}));
    team[0].finish(team[0].pull(3));
    for (uint64_t i = 0; i < 40; ++i) {
        float expected = i >= 10 && i < 26 ? static_cast<float>(i - 9) : 0;
        if (i == 0) expected += 1;
        if (i == 13) expected += 2;
        if (i == 14) expected += 3;
        if (i == 39) expected += 4;
        EXPECT_EQ(team[0].model(i), expected) << i;
    }
    team[0].finish(team[0].pull_range(3, 12));
    for (uint64_t i = 0; i < ServerWorker::kRange; ++i)
        EXPECT_EQ(team[0].range()[i], team[0].model(12 + i)) << i;
}

TEST(Server, SmallElementsWaitUntilTheyHaveGrown) {
    Cluster cluster({.nodes = 1});
    Team team(cluster, {.tune = [](AskedSession& job) { job.set(PACE_OPT_SERVER_FILTER, 1); }},
              {0});
    team[0].set_update(0.75F);
    team[0].finish(team[0].push(0));
    team[0].finish(team[0].pull(1));
    EXPECT_EQ(team[0].model(3), 0.0F);
    team[0].finish(team[0].push(1));
    team[0].finish(team[0].pull(2));
    EXPECT_EQ(team[0].model(3), 1.5F);
}

// ------------------------------------------------------------------------------------ who waits

TEST(Server, APullWaitsForTheSlowestAsFarAsStalenessAsks) {
    Cluster cluster({.nodes = 2});
    Team team(cluster,
              {.policy = PACE_POLICY_SSP,
               .tune = [](AskedSession& job) { job.set(PACE_OPT_SERVER_STALENESS, 2); }},
              {0, 1});
    for (uint64_t clock = 0; clock < 3; ++clock) team[0].finish(team[0].push(clock));
    team[0].finish(team[0].pull(2));
    const pace_request held = team[0].pull(3);
    EXPECT_EQ(team[0].session().wait(held, 0), PACE_TIMEOUT);
    team[1].finish(team[1].push(0));
    team[0].finish(held);
    EXPECT_EQ(team[0].info().slowest_clock, 1U);
    EXPECT_EQ(team[0].info().iteration, 3U);
}

TEST(Server, BspWaitsForEveryoneAndWhoLeavesIsWaitedForNoMore) {
    Cluster cluster({.nodes = 2});
    Team team(cluster, {.policy = PACE_POLICY_BSP}, {0, 1, 1});
    team[0].finish(team[0].push(0));
    team[1].finish(team[1].push(0));
    const pace_request held = team[0].pull(1);
    EXPECT_EQ(team[0].session().wait(held, 0), PACE_TIMEOUT);
    team.leave(2);
    team[0].finish(held);
    EXPECT_EQ(team[0].info().slowest_clock, 1U);
}

TEST(Server, AWaitingPullCanBeCanceledAndAskedForAgain) {
    Cluster cluster({.nodes = 1});
    Team team(cluster, {.policy = PACE_POLICY_BSP}, {0, 0});
    team[0].finish(team[0].push(0));
    const pace_request held = team[0].pull(1);
    EXPECT_EQ(team[0].session().cancel(held), PACE_OK);
    EXPECT_EQ(team[0].session().wait(held), PACE_CANCELED);
    team[1].finish(team[1].push(0));
    team[0].finish(team[0].pull(1));
}

TEST(Server, APrefetchedModelLacksTheStepUnderWay) {
    Cluster cluster({.nodes = 1});
    Team team(cluster, {}, {0});
    team[0].set_update(1);
    team[0].finish(team[0].push(0));
    const pace_request early = team[0].pull(2);  // while it computes step 1
    team[0].finish(early);
    EXPECT_EQ(team[0].model(0), 1.0F);
    team[0].finish(team[0].push(1));
    team[0].finish(team[0].pull(2));
    EXPECT_EQ(team[0].model(0), 2.0F);
}

TEST(Server, ANewcomerGetsTheModelAndBeginsAtTheSlowestClock) {
    Cluster cluster({.nodes = 3});
    Team team(cluster, {.policy = PACE_POLICY_SSP}, {0, 1});
    for (uint64_t clock = 0; clock < 2; ++clock)
        for (uint32_t rank = 0; rank < 2; ++rank) {
            team[rank].set_update(1);
            team[rank].finish(team[rank].push(clock));
            team[rank].finish(team[rank].pull(clock + 1));
        }
    team.leave(1);
    team.join(cluster, 2, 1);
    ServerWorker& newcomer = team[1];
    EXPECT_EQ(newcomer.session().wait(newcomer.push(0)), PACE_STALE);
    newcomer.finish(newcomer.broadcast(0));
    EXPECT_EQ(newcomer.model(3), 4.0F);
    EXPECT_EQ(newcomer.info().iteration, 2U);
    newcomer.set_update(1);
    newcomer.finish(newcomer.push(2));
    newcomer.finish(newcomer.pull(3));
    EXPECT_EQ(newcomer.model(3), 5.0F);
}

// The predecessor may have pushed for the same steps. Pushes that are not ordered, or are still on
// their way, are not taken for the successor's.
TEST(Server, AWorkersSuccessorOnTheSameNodePushesForItself) {
    Cluster cluster({.nodes = 3});
    Team team(cluster, {.elements = 30, .shards = 3}, {0, 1});
    team.broadcast(0);
    float pushed = 0;
    for (int successor = 0; successor < 8; ++successor) {
        const auto own = static_cast<float>(successor + 1);
        ServerWorker& worker = team[1];
        const uint64_t clock = worker.info().iteration;
        worker.set_update(own);
        worker.finish(worker.push(clock));
        worker.finish(worker.pull(clock + 1));
        pushed += own;
        EXPECT_EQ(worker.model(0), pushed);
        (void)worker.push(clock + 1);  // this push may count or not
        team.leave(1);
        team.join(cluster, 1, 1);
        team[1].finish(team[1].broadcast(0));
        const float left_behind = team[1].model(0) - pushed;
        EXPECT_TRUE(left_behind == 0 || left_behind == own) << left_behind;
        pushed += left_behind;
        for (uint64_t i = 1; i < 30; ++i) ASSERT_EQ(team[1].model(i), team[1].model(0)) << i;
    }
}

// -------------------------------------------------------------------------------------- bad input

void expect_refused(ServerWorker& worker, pace_request request, const std::string& named) {
    EXPECT_EQ(worker.session().wait(request), PACE_E_REFUSED) << named;
    EXPECT_NE(worker.session().complaint().find(named), std::string::npos)
        << worker.session().complaint();
}

// The trainer may not have heard that the first push ended well.
TEST(Server, APushThatIsRepeatedCountsOnceAndSaysSo) {
    Cluster cluster({.nodes = 2});
    Team team(cluster, {.elements = 40, .shards = 3}, {0, 1});
    ServerWorker& worker = team[0];
    worker.set_update(1);
    worker.finish(worker.push(0));
    EXPECT_EQ(worker.info().contributor_count, 1U);
    worker.finish(worker.push(1));
    for (const uint64_t clock : {1U, 0U}) {
        worker.finish(worker.push(clock));
        EXPECT_EQ(worker.info().contributor_count, 0U);
        EXPECT_EQ(worker.info().iteration, 2U);
    }
    worker.finish(worker.push(2));
    EXPECT_EQ(worker.info().contributor_count, 1U);
    expect_model(worker, 3, 3);
}

TEST(Server, BadInputIsNamedAndChangesNothing) {
    Cluster cluster({.nodes = 2});
    Team team(cluster, {.elements = 40, .shards = 3}, {0, 1});
    ServerWorker& worker = team[0];
    worker.set_update(1);
    worker.finish(worker.push(0));
    expect_refused(worker, worker.pull(3), "clock is 3");
    expect_refused(worker, worker.push_sparse(1, {5, 5}, {1, 1}), "index 5 follows 5");
    expect_refused(worker, worker.push_sparse(1, {7, 5}, {1, 1}), "index 5 follows 7");
    expect_refused(worker, worker.push_sparse(1, {7, 40}, {1, 1}), "index 40");
    expect_refused(worker, worker.push_range(1, 30, std::vector<float>(16, 1)),
                   "16 elements from 30");
    expect_refused(worker, worker.pull_range(1, 25), "16 elements from 25");
    expect_refused(worker, worker.pull_range(1, ~uint64_t{0}), "16 elements from");
    worker.finish(worker.pull(1));
    for (uint64_t i = 0; i < 40; ++i) ASSERT_EQ(worker.model(i), 1.0F) << i;
}

TEST(Server, APullTellsAVersionThatGrowsAndHowFarTheSlowestIs) {
    Cluster cluster({.nodes = 2});
    Team team(cluster, {.policy = PACE_POLICY_SSP, .elements = 40}, {0, 1});
    uint64_t version = 0;
    for (uint64_t clock = 0; clock < 3; ++clock) {
        for (uint32_t rank = 0; rank < 2; ++rank) {
            team[rank].set_update(1);
            team[rank].finish(team[rank].push(clock));
        }
        expect_model(team[0], clock + 1, static_cast<float>(2 * (clock + 1)));
        EXPECT_GT(team[0].info().version, version);
        EXPECT_EQ(team[0].info().slowest_clock, clock + 1);
        version = team[0].info().version;
    }
    team[1].finish(team[1].push(3));
    expect_model(team[0], 3, 7);
    EXPECT_EQ(team[0].info().slowest_clock, 3U) << "of who has pushed three times";
}

TEST(Server, SyncAndBarrierAreForEveryFamily) {
    Cluster cluster({.nodes = 2});
    Team team(cluster, {}, {0, 0, 1});
    team.everyone([](ServerWorker& worker, uint32_t rank) {
        Worker& session = worker.session();
        const float* own = session.add_floats(100, static_cast<float>(rank));
        pace_slice whole = PACE_WHOLE(session.buffers().back());
        pace_request request{};
        ASSERT_EQ(pace_sync(session.session(), &whole, 1, nullptr, &request, nullptr), PACE_OK);
        session.finish(request);
        EXPECT_EQ(own[99], 1.0F);
        EXPECT_EQ(session.info().member_count, 3U);
        session.finish(session.barrier());
        EXPECT_EQ(session.info().member_count, 3U);
    });
}

// There are more pushes than a worker may have on their way, and the last one is wrong. A pull
// after it waits only for the others.
TEST(Server, APullAfterAPushThatIsRefusedDoesNotWaitForIt) {
    Cluster cluster({.nodes = 2});
    Team team(cluster, {.elements = 20000, .shards = 2}, {0, 1});
    ServerWorker& worker = team[0];
    worker.set_update(1);
    std::vector<pace_request> pushes;
    for (uint64_t clock = 0; clock < 12; ++clock) {
        pushes.push_back(worker.push(clock));
        worker.finish(pushes.back());
    }
    const pace_request wrong = worker.push_sparse(12, {5, 5}, {1, 1});
    const pace_request pull = worker.pull(12);
    expect_refused(worker, wrong, "index 5 follows 5");
    worker.finish(pull);
    EXPECT_EQ(worker.model(7), 12.0F);
}

TEST(Server, TypesAndVerbsThatDoNotFitAreRefused) {
    Cluster cluster({.nodes = 1});
    Team team(cluster, {}, {0});
    Worker& session = team[0].session();
    pace_error error{};
    pace_request request{};
    pace_buffer halves{};
    void* data = nullptr;
    ASSERT_EQ(pace_buffer_create(session.session(), PACE_F16, 10, nullptr, &halves, &data, &error),
              PACE_OK);
    ASSERT_EQ(pace_push(session.session(), Slices(&halves, 1), 1, push_at(0), &request, &error),
              PACE_OK);
    EXPECT_EQ(session.wait(request), PACE_E_REFUSED);
    EXPECT_NE(session.complaint().find("f16"), std::string::npos) << session.complaint();
    EXPECT_EQ(pace_reduce(session.session(), Slices(&halves, 1), 1, nullptr, &request, &error),
              PACE_E_VERB);
    EXPECT_NE(std::string(error.message).find("pace_push"), std::string::npos) << error.message;
    EXPECT_EQ(pace_announce(session.session(), 0, &error), PACE_E_VERB);

    WorkerOptions reducing;
    reducing.endpoint = cluster.endpoint(0);
    Worker other(reducing);
    ASSERT_NE(other.add_floats(4, 0), nullptr);
    EXPECT_EQ(pace_push(other.session(), Slices(other.buffers().data(), 1), 1, push_at(0), &request,
                        &error),
              PACE_E_VERB);
    EXPECT_NE(std::string(error.message).find("pace_reduce"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace pace::cluster
