// Overlap tests: averages beside the trainer's computing. The buffers become ready while they
// travel, or copies are averaged.
#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/harness/cluster.h"
#include "tests/cluster/harness/worker.h"

namespace pace::cluster {
namespace {

// Workers of one job, each on a node of its own, or all on one. Each buffer has more than two
// pieces of 4 MiB.
class Overlap : public testing::Test {
  protected:
    void open(const std::vector<size_t>& nodes, uint32_t group_size,
              const std::string& policy = PACE_POLICY_PARTIAL_REDUCE) {
        const size_t count = *std::max_element(nodes.begin(), nodes.end()) + 1;
        cluster_ = std::make_unique<Cluster>(Cluster::Options{.nodes = count});
        for (uint32_t rank = 0; rank < nodes.size(); ++rank) {
            WorkerOptions options;
            options.endpoint = cluster_->endpoint(nodes[rank]);
            options.rank = rank;
            options.world = static_cast<uint32_t>(nodes.size());
            options.policy = policy;
            options.group_size = group_size;
            workers_.push_back(std::make_unique<Worker>(options));
            ASSERT_EQ(workers_.back()->opened(), PACE_OK) << workers_.back()->complaint();
            values_.push_back(workers_.back()->add_floats(kElements, kUnmade));
        }
    }
    Worker& worker(size_t rank) { return *workers_[rank]; }

    // The elements from `from` on get the worker's value and become ready.
    void make(size_t rank, pace_request request, uint64_t from) {
        std::fill(values_[rank] + from, values_[rank] + kElements, value_of(rank));
        worker(rank).ready(request, kElements - from);
    }
    static float value_of(size_t rank) { return static_cast<float>(10 * rank); }

    uint64_t count_of(size_t rank, float value) const {
        return static_cast<uint64_t>(std::count(values_[rank], values_[rank] + kElements, value));
    }

    static constexpr uint64_t kElements = uint64_t{5} << 19U;
    static constexpr float kUnmade = -1e9F;
    std::unique_ptr<Cluster> cluster_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<float*> values_;
};

TEST_F(Overlap, WhatBecomesReadyInStepsIsAveragedAsAWhole) {
    for (const auto& nodes : {std::vector<size_t>{0, 1}, {0, 0}, {0, 1, 1}}) {
        SCOPED_TRACE(nodes.size());
        workers_.clear();
        values_.clear();
        ASSERT_NO_FATAL_FAILURE(open(nodes, static_cast<uint32_t>(nodes.size())));
        std::vector<pace_request> requests;
        for (const auto& one : workers_) requests.push_back(one->average_ordered(1));
        for (const uint64_t from : {kElements - 1, kElements / 2, kElements / 3, uint64_t{0}}) {
            for (size_t rank = 0; rank < nodes.size(); ++rank) {
                EXPECT_EQ(worker(rank).wait(requests[rank], 0), PACE_TIMEOUT);
                make(rank, requests[rank], from);
            }
        }
        float mean = 0;
        for (size_t rank = 0; rank < nodes.size(); ++rank)
            mean += value_of(rank) / static_cast<float>(nodes.size());
        for (size_t rank = 0; rank < nodes.size(); ++rank) {
            worker(rank).finish(requests[rank]);
            EXPECT_EQ(worker(rank).info().member_count, nodes.size());
            EXPECT_EQ(count_of(rank, mean), kElements);
        }
    }
}

// No part of the result is visible before all of it is there.
TEST_F(Overlap, TheRestOfTheBuffersIsTheTrainersUntilTheEnd) {
    ASSERT_NO_FATAL_FAILURE(open({0, 1}, 2));
    const pace_request first = worker(0).average_ordered(1);
    const pace_request second = worker(1).average_ordered(1);
    make(0, first, kElements / 4);
    make(1, second, kElements / 4);
    EXPECT_EQ(worker(0).wait(first, 20), PACE_TIMEOUT);
    EXPECT_EQ(count_of(0, value_of(0)), kElements - kElements / 4);
    EXPECT_EQ(count_of(0, kUnmade), kElements / 4);
    make(0, first, 0);
    make(1, second, 0);
    worker(0).finish(first);
    worker(1).finish(second);
    EXPECT_EQ(count_of(0, 5), kElements);
    EXPECT_EQ(count_of(1, 5), kElements);
}

TEST_F(Overlap, WhoMakesNothingReadyIsLeftToALaterGroup) {
    ASSERT_NO_FATAL_FAILURE(open({0, 1, 2}, 2));
    const pace_request idle = worker(0).average_ordered(1);
    const pace_request willing = worker(1).average_ordered(1);
    make(1, willing, 0);
    // Worker 1's group with worker 0 is given up, and worker 1 meets worker 2.
    const pace_request third = worker(2).average_ordered(1);
    make(2, third, 0);
    worker(1).finish(willing);
    worker(2).finish(third);
    EXPECT_EQ(count_of(1, 15), kElements);
    EXPECT_EQ(count_of(2, 15), kElements);
    // Then worker 0 comes after all.
    const pace_request next = worker(1).average_ordered(2);
    make(0, idle, 0);
    make(1, next, kElements);
    std::fill(values_[1], values_[1] + kElements, 30.0F);
    worker(1).ready(next, kElements);
    worker(0).finish(idle);
    worker(1).finish(next);
    EXPECT_EQ(count_of(0, 15), kElements);
}

TEST_F(Overlap, WhoLeavesBeforeAllIsReadyCostsTheOthersNothing) {
    ASSERT_NO_FATAL_FAILURE(open({0, 1, 1}, 3));
    const pace_request leaves = worker(0).average_ordered(1);
    const pace_request first = worker(1).average_ordered(1);
    const pace_request second = worker(2).average_ordered(1);
    make(0, leaves, kElements / 2);
    make(1, first, kElements / 2);
    make(2, second, kElements / 2);
    workers_[0].reset();
    make(1, first, 0);
    make(2, second, 0);
    worker(1).finish(first);
    worker(2).finish(second);
    EXPECT_EQ(count_of(1, 15), kElements);
    EXPECT_EQ(count_of(2, 15), kElements);
}

TEST_F(Overlap, ACallOfWhichNothingIsReadyCanBeCanceled) {
    ASSERT_NO_FATAL_FAILURE(open({0, 1}, 2));
    const pace_request alone = worker(0).average_ordered(1);
    EXPECT_EQ(worker(0).cancel(alone), PACE_OK);
    EXPECT_EQ(worker(0).wait(alone), PACE_CANCELED);
    EXPECT_EQ(pace_request_ready(worker(0).session(), alone, 1, nullptr), PACE_E_HANDLE);
}

TEST_F(Overlap, EveryPolicyTakesWhatBecomesReadyInSteps) {
    for (const std::string policy :
         {PACE_POLICY_PRAGUE_RANDOM, PACE_POLICY_PRAGUE_SMART, PACE_POLICY_AD_PSGD,
          PACE_POLICY_FULL, PACE_POLICY_PRAGUE_STATIC}) {
        SCOPED_TRACE(policy);
        workers_.clear();
        values_.clear();
        ASSERT_NO_FATAL_FAILURE(open({0, 1}, 0, policy));
        // In the second phase of static groups no worker meets another node.
        const uint64_t calls = policy == PACE_POLICY_PRAGUE_STATIC ? 1 : 2;
        for (uint64_t iteration = 1; iteration <= calls; ++iteration) {
            std::vector<pace_request> requests;
            for (const auto& one : workers_)
                requests.push_back(one->average_ordered(iteration, PACE_ORDER_BACKWARD));
            for (const uint64_t from : {kElements / 2, uint64_t{0}})
                for (size_t rank = 0; rank < 2; ++rank) make(rank, requests[rank], from);
            for (size_t rank = 0; rank < 2; ++rank) worker(rank).finish(requests[rank]);
            EXPECT_EQ(count_of(0, 5), kElements);
            EXPECT_EQ(count_of(1, 5), kElements);
        }
    }
}

TEST_F(Overlap, ACopyIsAveragedWhileTheTrainerGoesOn) {
    ASSERT_NO_FATAL_FAILURE(open({0, 1}, 2));
    for (size_t rank = 0; rank < 2; ++rank) std::fill_n(values_[rank], kElements, value_of(rank));
    const pace_request first = worker(0).average_kept(4);
    values_[0][7] += 1;  // a step that changes one element
    const pace_request second = worker(1).average_kept(5);
    worker(0).finish_kept(first, 6);
    EXPECT_EQ(values_[0][7], 6.0F);
    EXPECT_EQ(count_of(0, 5), kElements - 1);
    EXPECT_EQ(worker(0).info().staleness, 2U);
    // The group's newest iteration is 5, and worker 0 has made two steps since.
    EXPECT_EQ(worker(0).info().iteration, 7U);
    worker(1).finish_kept(second, 0);
    EXPECT_EQ(count_of(1, 5), kElements);
    EXPECT_EQ(worker(1).info().staleness, 0U);
    EXPECT_EQ(worker(1).info().iteration, 5U);
}

}  // namespace
}  // namespace pace::cluster
