// Announced averages: groups that form while their members compute. The tests check what becomes of
// a group when a member comes late, makes another call, or never comes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/faults.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

// Workers of one job on two nodes. Once the first averages are made, the daemons know that steps
// are short. An announcement is then due at once.
class Announced : public testing::Test {
  protected:
    void open(uint32_t world, uint32_t group_size,
              const std::string& policy = PACE_POLICY_PARTIAL_REDUCE,
              const std::string& weights = "constant") {
        for (uint32_t rank = 0; rank < world; ++rank) {
            WorkerOptions options;
            options.endpoint = cluster_.endpoint(rank % 2);
            options.rank = rank;
            options.world = world;
            options.policy = policy;
            options.group_size = group_size;
            options.weights = weights;
            workers_.push_back(std::make_unique<Worker>(options));
            ASSERT_EQ(workers_.back()->opened(), PACE_OK) << workers_.back()->complaint();
            values_.push_back(workers_.back()->add_floats(kElements, static_cast<float>(rank)));
        }
    }
    Worker& worker(size_t rank) { return *workers_[rank]; }

    // Lets these ranks average in one group.
    void meet(const std::vector<size_t>& ranks, uint64_t iteration) {
        std::vector<pace_request> requests;
        for (const size_t rank : ranks) requests.push_back(worker(rank).average(iteration));
        for (size_t i = 0; i < ranks.size(); ++i) worker(ranks[i]).finish(requests[i]);
    }

    uint64_t groups_ordered() {
        const auto status = nlohmann::json::parse(cluster_.state(), nullptr, false);
        return status.is_object() ? status["counters"]["groups"].get<uint64_t>() : 0;
    }
    void let_order(uint64_t groups) {
        const Deadline deadline = soon();
        while (groups_ordered() < groups)
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << cluster_.state();
    }

    static constexpr uint64_t kElements = 1000;
    Cluster cluster_{{.nodes = 2}};
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<float*> values_;
};

TEST_F(Announced, TheGroupIsOrderedBeforeItsLastMemberCalls) {
    open(2, 2);
    for (uint64_t iteration = 1; iteration <= 3; ++iteration) meet({0, 1}, iteration);
    const uint64_t before = groups_ordered();
    worker(0).announce(4);
    // Worker 0 is still computing.
    std::fill_n(values_[0], kElements, 10.0F);
    std::fill_n(values_[1], kElements, 20.0F);
    const pace_request waits = worker(1).average(4);
    let_order(before + 1);
    std::fill_n(values_[0], kElements, 30.0F);
    worker(0).finish(worker(0).average(4));
    worker(1).finish(waits);
    // Both workers were in one group. The group may have been given up if looking at the status
    // took too long.
    for (size_t rank = 0; rank < 2; ++rank) {
        const bool together = worker(rank).info().member_listed == 2;
        const float expected = together ? 25.0F : rank == 0 ? 30.0F : 20.0F;
        const float* values = values_[rank];
        EXPECT_EQ(std::count(values, values + kElements, expected), static_cast<long>(kElements));
    }
}

TEST_F(Announced, OneThatDoesNotComeIsNotWaitedFor) {
    open(3, 2);
    for (uint64_t iteration = 1; iteration <= 3; ++iteration) {
        meet({0, 1}, iteration);
        meet({1, 2}, iteration);
        meet({0, 2}, iteration);
    }
    worker(0).announce(4);
    for (uint64_t iteration = 4; iteration < 14; ++iteration) meet({1, 2}, iteration);
    const pace_request late = worker(0).average(4);
    meet({1}, 14);
    worker(0).finish(late);
}

TEST_F(Announced, TheDeathOfOneThatIsExpectedFreesTheOthers) {
    open(2, 2);
    for (uint64_t iteration = 1; iteration <= 3; ++iteration) meet({0, 1}, iteration);
    const uint64_t before = groups_ordered();
    worker(0).announce(4);
    const pace_request waits = worker(1).average(4);
    let_order(before + 1);
    workers_[0].reset();
    worker(1).finish(waits);
    EXPECT_EQ(worker(1).info().member_listed, 1U);
}

TEST_F(Announced, AnotherIterationThanAnnouncedCountsAsItIsCalled) {
    open(2, 2, PACE_POLICY_PARTIAL_REDUCE, "dynamic");
    for (uint64_t iteration = 1; iteration <= 3; ++iteration) meet({0, 1}, iteration);
    worker(0).announce(4);
    const pace_request waits = worker(1).average(4);
    worker(0).finish(worker(0).average(6));
    worker(1).finish(waits);
    EXPECT_EQ(worker(1).info().iteration, 6U);
    ASSERT_EQ(worker(1).info().member_listed, 2U);
    EXPECT_EQ(worker(1).members()[0].staleness, 0U);
    EXPECT_EQ(worker(1).members()[1].staleness, 2U);
    EXPECT_GT(worker(1).members()[0].weight, worker(1).members()[1].weight);
}

TEST_F(Announced, AnotherVerbTakesItBack) {
    open(2, 2);
    for (uint64_t iteration = 1; iteration <= 3; ++iteration) meet({0, 1}, iteration);
    worker(0).announce(4);
    const pace_request sync = worker(0).sync();
    worker(1).finish(worker(1).sync());
    worker(0).finish(sync);
    meet({0, 1}, 4);
}

TEST_F(Announced, WithoutADaemonIsNoMistake) {
    open(2, 2);
    for (uint64_t iteration = 1; iteration <= 3; ++iteration) meet({0, 1}, iteration);
    cluster_.daemon(0).signal(SIGKILL);
    ASSERT_TRUE(cluster_.daemon(0).wait(soon()));
    pace_error error{};
    EXPECT_EQ(pace_announce(worker(0).session(), 4, &error), PACE_OK) << error.message;
    EXPECT_EQ(pace_withdraw(worker(0).session(), &error), PACE_OK) << error.message;
}

TEST_F(Announced, WhatIsWithdrawnHoldsNobody) {
    open(3, 2);
    for (uint64_t iteration = 1; iteration <= 3; ++iteration) {
        meet({0, 1}, iteration);
        meet({1, 2}, iteration);
        meet({0, 2}, iteration);
    }
    for (uint64_t iteration = 4; iteration < 24; ++iteration) {
        worker(0).announce(iteration);
        worker(0).withdraw();
        meet({1, 2}, iteration);
    }
    worker(0).withdraw();  // there is nothing to take back
    meet({0, 1}, 24);
}

TEST_F(Announced, AJobWithoutGroupsHasNothingToAnnounce) {
    const Worker reducer({.endpoint = cluster_.endpoint(0)});
    ASSERT_EQ(reducer.opened(), PACE_OK) << reducer.complaint();
    pace_error error{};
    EXPECT_EQ(pace_announce(reducer.session(), 1, &error), PACE_E_VERB);
    EXPECT_NE(std::string(error.message).find("leave out pace_announce"), std::string::npos);
    EXPECT_EQ(pace_announce(nullptr, 1, &error), PACE_E_INVALID);
    EXPECT_EQ(pace_withdraw(nullptr, &error), PACE_E_INVALID);
}

// Each worker makes announcements of every kind at random, at its own pace. The expected average of
// each group follows from its members.
class AnnouncedAtRandom : public Announced, public testing::WithParamInterface<std::string> {
  protected:
    static constexpr uint64_t kIterations = 200;

    void train(uint32_t rank) {
        base::Random random(test_seed() + rank);
        Worker& self = worker(rank);
        float* values = values_[rank];
        for (uint64_t iteration = 1; iteration <= kIterations; ++iteration) {
            const uint64_t kind = random.below(5);
            if (kind < 3) self.announce(kind == 0 ? iteration + 5 : iteration);
            if (kind == 2) self.withdraw();
            std::fill_n(values, kElements, static_cast<float>(rank + iteration));
            self.finish(self.average(iteration));
            const double mean = expected_mean(self);
            const bool right = std::all_of(values, values + kElements, [mean](float value) {
                return std::abs(value - mean) < 1e-3;
            });
            EXPECT_TRUE(right) << "iteration " << iteration << ": " << values[0] << ", not "
                               << mean;
        }
        workers_[rank].reset();
    }
    // Computes the mean of the values that train() writes.
    static double expected_mean(const Worker& worker) {
        const pace_request_info& info = worker.info();
        double mean = 0;
        for (uint32_t i = 0; i < info.member_listed; ++i) {
            const pace_member& member = worker.members()[i];
            const uint64_t iteration = info.iteration - member.staleness;
            mean += member.weight * static_cast<double>(member.rank + iteration);
        }
        return mean;
    }
};

INSTANTIATE_TEST_SUITE_P(Policies, AnnouncedAtRandom,
                         testing::Values(PACE_POLICY_PARTIAL_REDUCE, PACE_POLICY_PRAGUE_RANDOM,
                                         PACE_POLICY_PRAGUE_SMART, PACE_POLICY_FULL));

TEST_P(AnnouncedAtRandom, ChangesNoAverage) {
    constexpr uint32_t kWorld = 6;
    open(kWorld, GetParam() == PACE_POLICY_FULL ? 0 : 3, GetParam());
    std::vector<std::thread> trainers;
    for (uint32_t rank = 0; rank < kWorld; ++rank)
        trainers.emplace_back([this, rank] { train(rank); });
    for (std::thread& trainer : trainers) trainer.join();
}

}  // namespace
}  // namespace pace::cluster
