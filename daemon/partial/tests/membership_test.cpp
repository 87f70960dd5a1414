// Tests rounds one after the other, with workers that die, workers that are always late and nodes
// that run ahead.
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/partial/tests/test_round.h"

namespace pace::partial {
namespace {

using base::ErrorKind;

// The worker that would have started the round dies. The view goes on without it.
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
            // Only the two quorums that need the dead worker are certain to wait.
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

// Nodes that each have one worker, and begin their next round when their own round has ended.
class Runners {
  public:
    Runners(size_t nodes, const JobOptions& options, uint64_t seed)
        : job(make_roster(nodes, 1), options, seed),
          values(nodes),
          at_(nodes, 0),
          has_called_(nodes, false) {
        for (size_t node = 0; node < nodes; ++node) members_.push_back(node);
        for (const size_t node : members_) job.begin_at(node, 0, 100, members_);
    }

    void step(size_t node, uint64_t rounds) {
        if (at_[node] == rounds) return;
        if (job.ended(node)) {
            ASSERT_TRUE(job.outcome(node).ok()) << job.outcome(node).error().message;
            values[node].push_back(job.value(node));
            // A worker that has not called gets what it missed. Here it is only told so.
            job.store(node).advance(static_cast<Rank>(node), ++at_[node]);
            has_called_[node] = false;
            if (at_[node] < rounds) job.begin_at(node, at_[node], 100 + at_[node], members_);
            return;
        }
        if (has_called_[node]) return;
        has_called_[node] = true;
        handed_in += static_cast<double>(at_[node] + 1);
        job.arrive(static_cast<Rank>(node), static_cast<double>(at_[node] + 1));
    }

    TestJob job;
    std::vector<std::vector<double>> values;  // of each node's rounds
    double handed_in = 0;

  private:
    std::vector<size_t> members_;
    std::vector<uint64_t> at_;
    std::vector<bool> has_called_;
};

// Each node begins its next round when its own round has ended, whatever the other nodes do. So
// there are messages of rounds that a node has not begun yet or has left.
TEST(Membership, NodesThatRunAheadOfOthersAgreeAboutEveryRound) {
    constexpr uint64_t kRounds = 12;
    for (const size_t nodes : {2U, 3U, 5U, 8U, 11U})
        for (const Quorum& quorum : all_quorums(nodes))
            for (uint64_t seed = 1; seed <= 10; ++seed) {
                SCOPED_TRACE(testing::Message()
                             << nodes << " nodes, " << kind_name(quorum) << ", seed " << seed);
                JobOptions options;
                options.quorum = quorum;
                Runners runners(nodes, options, seed);
                base::Random random(seed);
                for (size_t steps = 0; steps < 20000; ++steps) {
                    runners.step(random.below(nodes), kRounds);
                    if (testing::Test::HasFatalFailure()) return;
                    if (random.below(2) == 0) runners.job.network().progress();
                }
                for (size_t node = 0; node < nodes; ++node) {
                    ASSERT_EQ(runners.values[node].size(), kRounds) << node;
                    ASSERT_EQ(runners.values[node], runners.values[0]) << node;
                }
                double applied = 0;
                for (const double value : runners.values[0]) applied += value;
                ASSERT_EQ(applied + runners.job.stored_value(kRounds), runners.handed_in);
            }
}

}  // namespace
}  // namespace pace::partial
