// Tests what happens to rounds and contributions when a node dies, freezes or disagrees, at every
// step.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "daemon/partial/tests/test_round.h"

namespace pace::partial {
namespace {

using base::ErrorKind;
using collectives::Layout;
using protocol::DType;

constexpr size_t kFive = 5;

// Worker r's gradient. A sum of gradients shows which workers are in it, and how often.
double gradient_of(Rank rank) {
    return static_cast<double>(uint64_t{1} << (2 * rank));
}

JobOptions options_of(const Quorum& quorum, bool is_long) {
    JobOptions options;
    options.quorum = quorum;
    if (is_long) {
        // More than the in-memory network copies, so chunks take a rendezvous.
        options.layout = Layout({{DType::f32, 10000}});
        options.all_reduce.small_bytes_max = 0;
        options.all_reduce.chunk_bytes_min = options.all_reduce.chunk_bytes_max = 4608;
    }
    return options;
}

// A round in which some workers have called. The others call while the round is under way.
struct RoundTrial {
    RoundTrial(const JobOptions& options, std::optional<uint64_t> seed)
        : job(make_roster(kFive, 2), options, seed), ranks(job.roster().ranks()) {
        for (const Rank rank : ranks)
            if (rank % 2 == 0) hand_in(rank);
        job.begin(0);
        for (const Rank rank : ranks)
            if (rank % 2 == 0) job.round(job.node_of(rank)).arrived(rank);
    }

    void hand_in(Rank rank) {
        ASSERT_TRUE(job.hand_in(rank, gradient_of(rank)).ok());
        handed_in.insert(rank);
    }

    // One more worker calls in every step. Returns false if the round had ended everywhere before.
    bool run_steps(size_t steps) {
        size_t next = 1;
        for (size_t step = 0; step < steps; ++step) {
            if (job.all_ended()) return false;
            job.network().progress();
            if (next >= ranks.size()) continue;
            hand_in(ranks[next]);
            job.round(job.node_of(ranks[next])).arrived(ranks[next]);
            next += 2;
        }
        return !job.all_ended();
    }

    std::vector<size_t> survivors(size_t victim) const {
        std::vector<size_t> nodes;
        for (size_t node = 0; node < job.size(); ++node)
            if (node != victim) nodes.push_back(node);
        return nodes;
    }

    // Nodes that have the result of the round know it alike.
    void expect_sum_of(size_t node, double value) const {
        double expected = 0;
        for (const Contributor& contributor : job.outcome(node)->contributors)
            expected += gradient_of(contributor.rank);
        ASSERT_EQ(value, expected);
    }

    // Does what the view decides. A node that has the result gives it to the others. If no node has
    // the result, the survivors run the round again. Afterwards, everything that a survivor handed
    // in was applied or is stored.
    void settle(size_t victim) {
        const std::vector<size_t> nodes = survivors(victim);
        const auto donor = std::find_if(nodes.begin(), nodes.end(),
                                        [&](size_t node) { return job.outcome(node).ok(); });
        size_t teller = 0;
        if (donor != nodes.end()) {
            teller = *donor;
            for (const size_t node : nodes)
                if (!job.outcome(node).ok()) job.round(node).used_up();
        } else {
            teller = nodes.front();
            for (const size_t node : nodes) ASSERT_TRUE(job.round(node).put_back().ok());
            job.begin(0, nodes);
            for (const size_t node : nodes)
                for (const Rank rank : job.roster().nodes[node]) {
                    if (!handed_in.contains(rank)) hand_in(rank);
                    job.round(node).arrived(rank);
                }
            job.run();
            for (const size_t node : nodes) {
                ASSERT_TRUE(job.ended(node)) << node;
                ASSERT_TRUE(job.outcome(node).ok()) << job.outcome(node).error().message;
                ASSERT_TRUE(job.result(node) == job.result(teller));
            }
        }
        expect_sum_of(teller, job.value(teller));
        expect_nothing_lost(teller, victim);
    }

    void expect_nothing_lost(size_t teller, size_t victim) {
        std::multiset<Rank> found;
        for (const Contributor& contributor : job.outcome(teller)->contributors)
            found.insert(contributor.rank);
        for (const size_t node : survivors(victim))
            for (const Taken& one : job.store(node).take(1, job.roster().nodes[node])) {
                ASSERT_EQ(one.contribution.gradients(), 1U);
                found.insert(one.rank);
            }
        for (const Rank rank : ranks)
            if (job.node_of(rank) != victim) {
                ASSERT_EQ(found.count(rank), handed_in.count(rank)) << "worker " << rank;
            }
    }

    TestJob job;
    std::vector<Rank> ranks;
    std::set<Rank> handed_in;
};

void expect_ended(RoundTrial& trial, size_t victim, ErrorKind kind, const std::string& what) {
    for (const size_t node : trial.survivors(victim)) {
        ASSERT_TRUE(trial.job.ended(node)) << what << ", node " << node;
        if (trial.job.outcome(node)) continue;
        ASSERT_EQ(trial.job.outcome(node).error().kind, kind)
            << what << ": " << trial.job.outcome(node).error().message;
    }
}

std::string name_of(const Quorum& quorum, bool is_long, size_t victim, size_t step) {
    return kind_name(quorum) + (is_long ? " long" : " short") + ", victim " +
           std::to_string(victim) + ", step " + std::to_string(step);
}

TEST(PartialFailure, AKilledNodeEndsTheRoundEverywhereAndNothingIsLost) {
    for (const Quorum& quorum : all_quorums(6))
        for (const bool is_long : {false, true})
            for (const size_t victim : {0U, 2U, 4U})
                for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), {11}})
                    for (size_t step = 0;; step += seed && is_long ? 5 : 1) {
                        RoundTrial trial(options_of(quorum, is_long), seed);
                        if (!trial.run_steps(step)) break;
                        trial.job.network().kill(trial.job.transport(victim));
                        trial.job.run();
                        const std::string what = name_of(quorum, is_long, victim, step);
                        SCOPED_TRACE(what);
                        expect_ended(trial, victim, ErrorKind::unavailable, what);
                        if (testing::Test::HasFatalFailure()) return;
                        trial.settle(victim);
                        if (testing::Test::HasFatalFailure()) return;
                    }
}

TEST(PartialFailure, AFrozenNodeIsEndedByTheDeadline) {
    for (const Quorum& quorum : all_quorums(6))
        for (const bool is_long : {false, true})
            for (size_t step = 0;; ++step) {
                const size_t victim = 3;
                RoundTrial trial(options_of(quorum, is_long), std::nullopt);
                if (!trial.run_steps(step)) break;
                trial.job.network().freeze(trial.job.transport(victim));
                trial.job.run();
                const std::string what = name_of(quorum, is_long, victim, step);
                SCOPED_TRACE(what);
                bool is_suspected = false;
                bool any_waits = false;
                const std::vector<size_t> nodes = trial.survivors(victim);
                for (const size_t node : nodes) {
                    const std::vector<size_t> waiting = trial.job.ended(node)
                                                            ? std::vector<size_t>()
                                                            : trial.job.round(node).waiting_for();
                    any_waits = any_waits || !waiting.empty();
                    is_suspected = is_suspected || std::find(waiting.begin(), waiting.end(),
                                                             victim) != waiting.end();
                }
                // Before the start, no node is suspected. Afterwards, some node names the frozen
                // node.
                ASSERT_EQ(any_waits, is_suspected);
                for (const size_t node : nodes) {
                    if (trial.job.ended(node)) continue;
                    trial.job.round(node).abort({ErrorKind::timeout, "progress deadline"});
                    trial.job.transport(node).disconnect(
                        trial.job.transport(node)
                            .connect(trial.job.transport(victim).address())
                            .value());
                }
                trial.job.run();
                expect_ended(trial, victim, ErrorKind::timeout, what);
                if (testing::Test::HasFatalFailure()) return;
                trial.settle(victim);
                if (testing::Test::HasFatalFailure()) return;
            }
}

TEST(PartialFailure, AbortedBeforeItsStartARoundHasTakenNothing) {
    JobOptions options;
    options.quorum = {Quorum::Kind::all, 0, 0};
    TestJob job(make_roster(3, 1), options);
    job.begin(0);
    job.arrive(1, 4);
    job.run();
    EXPECT_FALSE(job.ended(1));
    for (const size_t node : {0U, 1U, 2U}) {
        EXPECT_TRUE(job.round(node).waiting_for().empty());
        job.round(node).abort({ErrorKind::aborted, "the job's membership is changing"});
        job.round(node).abort({ErrorKind::internal, "not the first"});
    }
    job.run();
    for (const size_t node : {0U, 1U, 2U}) {
        ASSERT_TRUE(job.ended(node));
        EXPECT_EQ(job.outcome(node).error().kind, ErrorKind::aborted);
        EXPECT_FALSE(job.round(node).has_taken());
    }
    EXPECT_EQ(job.stored_value(0), 4);
}

TEST(PartialFailure, ARoundThatIsGoneHasPutBackWhatItTook) {
    JobOptions options;
    options.quorum = {Quorum::Kind::solo, 0, 0};
    TestJob job(make_roster(2, 1), options);
    job.begin(0);
    job.network().freeze(job.transport(1));
    job.arrive(0, 4);
    job.run();
    EXPECT_TRUE(job.round(0).has_taken());
    EXPECT_FALSE(job.store(0).staleness(0, 0).has_value());
    job.round(0).abort({ErrorKind::timeout, "late"});
    job.run();
    ASSERT_TRUE(job.ended(0));
    job.network().thaw(job.transport(1));
    job.round(1).abort({ErrorKind::timeout, "late"});
    job.run();
    job.begin(0);  // destroys the rounds before
    EXPECT_EQ(job.store(0).staleness(0, 0), 0U);
}

// The next worker with this rank may be here already when the round is given up.
TEST(PartialFailure, WhatAWorkerGaveThatIsGoneIsNotPutBackForItsHeir) {
    JobOptions options;
    options.quorum = {Quorum::Kind::solo, 0, 0};
    TestJob job(make_roster(2, 1), options);
    job.begin(0);
    job.network().freeze(job.transport(1));
    job.arrive(0, 1);
    EXPECT_TRUE(job.round(0).has_taken());
    job.store(0).leave(0);
    job.round(0).left(0);
    job.store(0).join(0, 0);
    job.round(0).abort({ErrorKind::timeout, "late"});
    job.run();
    ASSERT_TRUE(job.ended(0));
    ASSERT_TRUE(job.round(0).put_back().ok());
    EXPECT_FALSE(job.store(0).staleness(0, 0).has_value());
    job.network().thaw(job.transport(1));
}

TEST(PartialFailure, AnAbortEndsARoundThatWaitsForAWorkerTooFarBehind) {
    JobOptions options;
    options.quorum = {Quorum::Kind::solo, 0, 0};
    options.staleness_max = 0;
    TestJob job(make_roster(1, 1), options);
    job.store(0).join(1, 0);  // on this node, but not in this round's roster
    job.begin(0);
    job.round(0).arrived(0);  // with nothing to give
    EXPECT_EQ(job.round(0).awaited(), std::vector<Rank>{0});
    EXPECT_FALSE(job.ended(0));
    job.round(0).abort({ErrorKind::canceled, "no more"});
    ASSERT_TRUE(job.ended(0));
    EXPECT_EQ(job.outcome(0).error().message, "no more");
}

TEST(PartialFailure, NodesThatDisagreeAboutTheRoundAreTold) {
    JobOptions options;
    options.quorum = {Quorum::Kind::solo, 0, 0};
    TestJob job(make_roster(2, 1), options);
    std::vector<std::optional<base::Result<RoundOutcome>>> outcomes(2);
    std::vector<std::unique_ptr<PartialRound>> rounds;
    std::vector<Bytes> results(2, Bytes(options.layout.bytes()));
    for (size_t node = 0; node < 2; ++node) {
        RoundPlan plan;
        plan.roster = job.roster();
        plan.quorum = options.quorum;
        const auto check = static_cast<uint32_t>(node);
        plan.group = {50, check, {0, 0}, node, {}};
        plan.group.nodes[1 - node] =
            job.transport(node).connect(job.transport(1 - node).address()).value();
        plan.data_exchange = 51;
        rounds.push_back(
            std::make_unique<PartialRound>(job.transport(node), std::move(plan), job.store(node)));
        base::spawn<base::Result<RoundOutcome>>(
            rounds[node]->run([&results, node](size_t) { return std::span(results[node]); }),
            [&outcomes, node](base::Result<RoundOutcome> end) { outcomes[node] = std::move(end); });
    }
    rounds[0]->arrived(0);
    job.run();
    ASSERT_TRUE(outcomes[1].has_value());
    EXPECT_EQ(outcomes[1]->error().kind, ErrorKind::mismatch);
    rounds[0]->abort({ErrorKind::canceled, "the test is over"});
    job.run();
    ASSERT_TRUE(outcomes[0].has_value());
}

}  // namespace
}  // namespace pace::partial
