// Tests rounds in which some or all workers wait in a verb of all members, and nodes that do not
// know the buffers yet.
#include <vector>

#include <gtest/gtest.h>

#include "daemon/partial/tests/test_round.h"

namespace pace::partial {
namespace {

using collectives::Layout;
using protocol::DType;

void expect_verdict(const TestJob& job, Verdict verdict) {
    for (size_t node = 0; node < job.size(); ++node) {
        ASSERT_TRUE(job.ended(node)) << "node " << node << " of " << job.size();
        ASSERT_TRUE(job.outcome(node).ok()) << job.outcome(node).error().message;
        ASSERT_EQ(job.outcome(node)->verdict, verdict) << "node " << node;
    }
}

TEST(Everyone, WaitingMakesTheRoundTheirsAndTakesNothing) {
    for (size_t nodes = 1; nodes <= 9; ++nodes)
        for (uint64_t seed = 1; seed <= 4; ++seed) {
            const Roster roster = make_roster(nodes, 2);
            for (const Quorum& quorum : all_quorums(roster.workers())) {
                SCOPED_TRACE(testing::Message()
                             << nodes << " nodes, seed " << seed << ", " << kind_name(quorum));
                JobOptions options;
                options.quorum = quorum;
                TestJob job(roster, options, seed);
                base::Random random(seed);
                job.begin(seed);
                std::vector<Rank> order = roster.ranks();
                shuffle(order, random);
                for (const Rank rank : order) {
                    ASSERT_FALSE(job.all_ended());
                    if (rank % 3 == 0) {
                        ASSERT_TRUE(job.hand_in(rank, 5).ok());
                    }
                    job.round(job.node_of(rank)).waits(rank);
                    for (size_t steps = random.below(4); steps > 0; --steps)
                        job.network().progress();
                }
                job.run();
                expect_verdict(job, Verdict::everyone);
                if (testing::Test::HasFatalFailure()) return;
                EXPECT_TRUE(job.outcome(0)->contributors.empty());
                const size_t stale_gradients = (roster.workers() + 2) / 3;
                const auto stale = static_cast<double>(stale_gradients);
                EXPECT_EQ(job.stored_value(seed), 5 * stale);
            }
        }
}

// A round does not wait for workers that wait, whoever was drawn and however many are asked for.
TEST(Everyone, WhoWaitsHoldsUpNoQuorum) {
    for (size_t nodes = 1; nodes <= 6; ++nodes)
        for (uint64_t seed = 1; seed <= 6; ++seed) {
            const Roster roster = make_roster(nodes, 3);
            if (roster.workers() < 2) continue;
            for (const Quorum& quorum : all_quorums(roster.workers())) {
                SCOPED_TRACE(testing::Message()
                             << nodes << " nodes, seed " << seed << ", " << kind_name(quorum));
                JobOptions options;
                options.quorum = quorum;
                TestJob job(roster, options, seed);
                base::Random random(seed);
                std::vector<Rank> order = roster.ranks();
                shuffle(order, random);
                const Rank last = order.back();
                job.begin(seed);
                for (const Rank rank : order)
                    if (rank != last) job.round(job.node_of(rank)).waits(rank);
                job.run();
                for (size_t node = 0; node < nodes; ++node) ASSERT_FALSE(job.ended(node));
                job.arrive(last, 8);
                job.run();
                job.expect_well();
                if (testing::Test::HasFatalFailure()) return;
                ASSERT_EQ(job.outcome(0)->verdict, Verdict::sum);
                EXPECT_EQ(job.outcome(0)->contributors,
                          (std::vector<Contributor>{{last, static_cast<uint32_t>(seed)}}));
                EXPECT_EQ(job.value(0), 8);
            }
        }
}

// A quorum of three among five needs three workers that give, as long as three do not wait. If
// fewer do not wait, it needs those.
TEST(Everyone, WhoWaitsFillsNoQuorum) {
    for (const size_t nodes : {1U, 2U, 5U})
        for (size_t waiting = 0; waiting <= 4; ++waiting) {
            SCOPED_TRACE(testing::Message() << nodes << " nodes, " << waiting << " wait");
            Roster roster;
            roster.nodes.resize(nodes);
            for (Rank rank = 0; rank < 5; ++rank) roster.nodes[rank * nodes / 5].push_back(rank);
            JobOptions options;
            options.quorum = {Quorum::Kind::count, 3, 0};
            TestJob job(roster, options);
            job.begin(0);
            for (Rank rank = 0; rank < waiting; ++rank) job.round(job.node_of(rank)).waits(rank);
            const size_t needed = std::min<size_t>(3, 5 - waiting);
            for (size_t given = 0; given < needed; ++given) {
                job.run();
                ASSERT_FALSE(job.ended(0)) << given;
                job.arrive(static_cast<Rank>(waiting + given), 1);
            }
            job.run();
            job.expect_well();
            EXPECT_EQ(job.outcome(0)->contributors.size(), needed);
        }
}

TEST(Everyone, WhoWaitsStillGivesWhatItHas) {
    JobOptions options;
    options.quorum = {Quorum::Kind::solo, 0, 0};
    TestJob job(make_roster(3, 1), options);
    job.begin(0);
    ASSERT_TRUE(job.hand_in(1, 4).ok());
    job.round(1).waits(1);
    job.arrive(2, 1);
    job.run();
    job.expect_well();
    EXPECT_EQ(job.value(0), 5);
}

TEST(Everyone, AWithdrawnWaitIsNoWait) {
    JobOptions options;
    options.quorum = {Quorum::Kind::all, 0, 0};
    TestJob job(make_roster(2, 1), options);
    job.begin(0);
    job.round(0).waits(0);
    job.run();
    EXPECT_TRUE(job.round(0).waits_no_more(0));
    job.round(1).waits(1);
    job.run();
    // All were counted, but not all still waited when the nodes took.
    expect_verdict(job, Verdict::sum);
    EXPECT_TRUE(job.outcome(0)->contributors.empty());
    EXPECT_FALSE(job.round(1).waits_no_more(1));
}

// A worker that takes a wait back and gives counts like a worker that gives at once, wherever its
// call is counted.
TEST(Everyone, AWorkerThatWaitedAndGivesAfterAllCounts) {
    const Roster roster = make_roster(3, 2);
    const std::vector<Rank> ranks = roster.ranks();
    for (const Quorum& quorum : all_quorums(ranks.size())) {
        if (quorum.kind == Quorum::Kind::all) continue;
        for (uint64_t round = 0; round < ranks.size(); ++round) {
            JobOptions options;
            options.quorum = quorum;
            TestJob job(roster, options);
            job.begin(round);
            // All but the last worker wait, so the round does not become a round of a verb of all
            // members.
            const std::vector<Rank> waiting(ranks.begin(), ranks.end() - 1);
            for (const Rank rank : waiting) job.round(job.node_of(rank)).waits(rank);
            job.run();
            for (const Rank rank : waiting)
                EXPECT_TRUE(job.round(job.node_of(rank)).waits_no_more(rank));
            for (const Rank rank : ranks) {
                if (job.ended(0)) break;
                job.arrive(rank, 1);
                job.run();
            }
            ASSERT_TRUE(job.ended(0)) << kind_name(quorum) << ", round " << round;
            job.expect_well();
        }
    }
}

TEST(Everyone, AHeldNodeHoldsTheRoundUntilItLetsGo) {
    JobOptions options;
    options.quorum = {Quorum::Kind::solo, 0, 0};
    TestJob job(make_roster(3, 1), options);
    job.begin(0);
    job.round(1).hold(true);
    job.arrive(0, 1);
    job.run();
    EXPECT_FALSE(job.ended(2));
    job.round(1).hold(false);
    job.run();
    job.expect_well();
}

TEST(NodeTerms, AreLearntFromANodeThatHasThem) {
    for (size_t nodes = 2; nodes <= 9; ++nodes)
        for (uint64_t seed = 1; seed <= 4; ++seed) {
            JobOptions options;
            options.quorum = {Quorum::Kind::solo, 0, 0};
            options.divide_by = DivideBy::contributors;
            options.layout = Layout({{DType::f32, 300}, {DType::f16, 0}, {DType::f64, 7}});
            const size_t knowing = seed % nodes;
            for (size_t node = 0; node < nodes; ++node)
                if (node != knowing) options.without_terms.insert(node);
            TestJob job(make_roster(nodes, 1), options, seed);
            job.begin(0);
            job.arrive(static_cast<Rank>(knowing), 3);
            job.run();
            job.expect_well();
            if (testing::Test::HasFatalFailure()) return;
            EXPECT_EQ(job.value(0), 3);
            for (size_t node = 0; node < nodes; ++node) ASSERT_TRUE(job.store(node).terms());
        }
}

TEST(NodeTerms, ThatDifferAreFoundOutEverywhere) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        JobOptions options;
        options.quorum = {Quorum::Kind::solo, 0, 0};
        options.without_terms = {1, 3};
        TestJob job(make_roster(5, 1), options, seed);
        job.store(3).agree({Layout({{DType::f32, 4}}), true});
        job.begin(0);
        job.arrive(0, 3);
        job.run();
        expect_verdict(job, Verdict::disagree);
        if (testing::Test::HasFatalFailure()) return;
        EXPECT_EQ(job.stored_value(1), 0) << "a call that fails gives nothing";
    }
}

TEST(NodeTerms, ASumIsNotDivided) {
    JobOptions options;
    options.quorum = {Quorum::Kind::all, 0, 0};
    options.divide_by = DivideBy::world;
    options.without_terms = {0, 1};
    TestJob job(make_roster(2, 1), options);
    for (const size_t node : {0U, 1U}) job.store(node).agree({options.layout, false});
    job.begin(0);
    job.arrive(0, 3);
    job.arrive(1, 4);
    job.run();
    job.expect_well();
    EXPECT_EQ(job.value(0), 7);
    EXPECT_EQ(job.outcome(0)->divisor, 1);
}

// No worker has called a reduce, and one worker has withdrawn its other call.
TEST(NodeTerms, WithoutAnyTheRoundIsNothing) {
    JobOptions options;
    options.quorum = {Quorum::Kind::all, 0, 0};
    options.without_terms = {0, 1};
    TestJob job(make_roster(2, 1), options);
    job.begin(0);
    job.round(0).waits(0);
    job.run();
    EXPECT_TRUE(job.round(0).waits_no_more(0));
    job.round(1).waits(1);
    job.run();
    expect_verdict(job, Verdict::nothing);
}

}  // namespace
}  // namespace pace::partial
