// Rounds one after the other: workers that die, workers that are always late, nodes that run ahead.
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/partial/test_round.h"

namespace pace::partial {
namespace {

using base::ErrorKind;

// Whoever would have started the round dies; the view goes on without it.
TEST(Membership, ADeadWorkersRoundIsStartedByTheSurvivors) {
    for (const size_t nodes : {1U, 2U, 3U, 6U})
        for (const Quorum& quorum : all_quorums(make_roster(nodes, 2).workers())) {
            SCOPED_TRACE(testing::Message() << nodes << " nodes, " << kind_name(quorum));
            JobOptions options;
            options.quorum = quorum;
            TestJob job(make_roster(nodes, 2), options);
            std::vector<Rank> ranks = job.roster().ranks();
            if (ranks.size() < 2) continue;
            const Rank dead = quorum.kind == Quorum::Kind::majority
                                  ? initiator(quorum.seed, 7, ranks)
                                  : ranks.back();
            job.begin(7);
            for (const Rank rank : ranks)
                if (rank != dead) {
                    ASSERT_TRUE(job.hand_in(rank, 1).ok());
                }
            // Only the two for which the dead one is needed can be sure to wait.
            for (const Rank rank : ranks)
                if (rank != dead &&
                    (quorum.kind == Quorum::Kind::majority || quorum.kind == Quorum::Kind::all))
                    job.round(job.node_of(rank)).arrived(rank);
            job.run();
            for (size_t node = 0; node < nodes; ++node) {
                ASSERT_FALSE(job.ended(node));
                job.round(node).abort({ErrorKind::aborted, "the membership changes"});
            }
            job.run();
            for (size_t node = 0; node < nodes; ++node) ASSERT_TRUE(job.ended(node));
            job.leave(dead);
            std::erase(ranks, dead);
            job.begin(7);
            for (const Rank rank : ranks) job.round(job.node_of(rank)).arrived(rank);
            job.run();
            job.expect_well();
            if (testing::Test::HasFatalFailure()) return;
            EXPECT_EQ(job.value(0), static_cast<double>(ranks.size()));
        }
}

TEST(Membership, BackupWorkersAreNotWaitedForAndTheirGradientsAreForgotten) {
    JobOptions options;
    options.quorum = {Quorum::Kind::count, 3, 0};
    options.late = Late::drop;
    options.divide_by = DivideBy::contributors;
    options.staleness_max = 0;
    TestJob job(make_roster(4, 1), options);
    for (uint64_t round = 0; round < 8; ++round) {
        job.begin(round);
        const auto slow = static_cast<Rank>(round % 4);
        for (Rank rank = 0; rank < 4; ++rank)
            if (rank != slow) job.arrive(rank, 2);
        job.run();
        job.expect_well();
        ASSERT_EQ(job.outcome(0)->contributors.size(), 3U);
        ASSERT_EQ(job.value(0), 2);
        ASSERT_EQ(*job.hand_in(slow, 1000), HandIn::forgotten);
        for (Rank rank = 0; rank < 4; ++rank) job.store(job.node_of(rank)).advance(rank, round + 1);
    }
    EXPECT_EQ(job.stored_value(8), 0);
}

// Each node begins its next round when its own has ended, whatever the others do; messages of
// rounds that a node has not begun yet, or has left, are in the air.
TEST(Membership, NodesThatRunAheadOfOthersAgreeAboutEveryRound) {
    constexpr uint64_t kRounds = 12;
    for (const size_t nodes : {2U, 3U, 5U, 8U, 11U})
        for (const Quorum& quorum : all_quorums(nodes))
            for (uint64_t seed = 1; seed <= 10; ++seed) {
                SCOPED_TRACE(testing::Message()
                             << nodes << " nodes, " << kind_name(quorum) << ", seed " << seed);
                JobOptions options;
                options.quorum = quorum;
                TestJob job(make_roster(nodes, 1), options, seed);
                base::Random random(seed);
                std::vector<size_t> members;
                for (size_t node = 0; node < nodes; ++node) members.push_back(node);
                std::vector<uint64_t> at(nodes, 0);
                std::vector<bool> has_called(nodes, false);
                std::vector<std::vector<double>> values(nodes);
                double handed_in = 0;
                for (const size_t node : members) job.begin_at(node, 0, 100, members);
                const auto step = [&](size_t node) {
                    if (at[node] == kRounds) return;
                    if (job.ended(node)) {
                        ASSERT_TRUE(job.outcome(node).ok()) << job.outcome(node).error().message;
                        values[node].push_back(job.value(node));
                        // Whoever has not called gets what it missed; here it is just told so.
                        job.store(node).advance(static_cast<Rank>(node), ++at[node]);
                        has_called[node] = false;
                        if (at[node] < kRounds)
                            job.begin_at(node, at[node], 100 + at[node], members);
                        return;
                    }
                    if (has_called[node]) return;
                    has_called[node] = true;
                    handed_in += static_cast<double>(at[node] + 1);
                    job.arrive(static_cast<Rank>(node), static_cast<double>(at[node] + 1));
                };
                for (size_t steps = 0; steps < 20000; ++steps) {
                    step(random.below(nodes));
                    if (testing::Test::HasFatalFailure()) return;
                    if (random.below(2) == 0) job.network().progress();
                }
                double applied = 0;
                for (const size_t node : members) {
                    ASSERT_EQ(values[node].size(), kRounds) << node;
                    ASSERT_EQ(values[node], values[0]) << node;
                }
                for (const double value : values[0]) applied += value;
                ASSERT_EQ(applied + job.stored_value(kRounds), handed_in);
            }
}

}  // namespace
}  // namespace pace::partial
