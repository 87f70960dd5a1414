// With which weights members take part in a round, and under which numbers nodes exchange.
#include "daemon/families/rounds/round_plan.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/families/rounds/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using protocol::ReduceOp;
using protocol::Verb;

std::vector<double> weights_of(Verb verb, ReduceOp op) {
    View view;
    view.members = {{0, 1, 0, 0}, {1, 1, 0, 0}, {2, 2, 0, 0}, {3, 2, 0, 0}};
    Request request;
    request.verb = verb;
    request.op = op;
    request.root = 2;
    const auto members = members_of(view, request);
    std::vector<double> weights;
    for (const auto& member : *members) weights.push_back(member.weight);
    return weights;
}

TEST(RoundPlan, GivesEachMemberItsWeightInTheResult) {
    using Weights = std::vector<double>;
    EXPECT_EQ(weights_of(Verb::reduce, ReduceOp::sum), Weights({1, 1, 1, 1}));
    EXPECT_EQ(weights_of(Verb::reduce, ReduceOp::mean), Weights({0.25, 0.25, 0.25, 0.25}));
    EXPECT_EQ(weights_of(Verb::sync, ReduceOp::sum), Weights({0.25, 0.25, 0.25, 0.25}));
    EXPECT_EQ(weights_of(Verb::broadcast, ReduceOp::sum), Weights({0, 0, 1, 0}));
    EXPECT_EQ(weights_of(Verb::barrier, ReduceOp::sum), Weights({0, 0, 0, 0}));
}

using RoundPlanTest = TwoNodesOfAJob;

TEST_F(RoundPlanTest, NamesAllNumbersUnderWhichMessagesMayComeAfterAView) {
    const JobState& job = here_.job;
    const std::vector<uint64_t> left = numbers_left(job, job.view.epoch, 5);
    std::vector<uint64_t> used{fetch_number(job, ExchangeKind::fetch, kHere),
                               fetch_number(job, ExchangeKind::fetch_told, kHere),
                               hidden_number(job, kHere, 0), hidden_number(job, kHere, 1)};
    for (const uint64_t round : {5, 6}) {
        used.push_back(round_number(job, round));
        for (const ExchangeKind kind : {ExchangeKind::partial, ExchangeKind::partial_data})
            used.push_back(exchange_number(job.token, kind, job.view.epoch, round));
        used.push_back(
            exchange_number(job.token, ExchangeKind::flat, job.view.epoch, used.end()[-3]));
    }
    EXPECT_TRUE(std::ranges::is_permutation(left, used));
}

TEST_F(RoundPlanTest, HasTheSameNumberAtTheNodeThatGivesAndTheOneThatFetches) {
    EXPECT_EQ(fetch_number(here_.job, ExchangeKind::fetch, kHere),
              fetch_number(there_.job, ExchangeKind::fetch, kHere));
    EXPECT_NE(fetch_number(here_.job, ExchangeKind::fetch, kHere),
              fetch_number(here_.job, ExchangeKind::fetch, kThere));
}

}  // namespace
}  // namespace pace::daemon
