// Tests whole rounds: who contributes, what is summed, and what a round costs.
#include <algorithm>
#include <iostream>
#include <map>

#include <gtest/gtest.h>

#include "daemon/partial/tests/test_round.h"
#include "daemon/partial/tests/test_training.h"

namespace pace::partial {
namespace {

using collectives::Layout;
using protocol::DType;

std::vector<JobOptions> jobs_of(size_t workers) {
    std::vector<JobOptions> jobs;
    for (const Quorum& quorum : all_quorums(workers)) {
        jobs.emplace_back();
        jobs.back().quorum = quorum;
    }
    return jobs;
}

TEST(PartialRound, NothingThatWasHandedInIsEverLostOrCountedTwice) {
    for (size_t nodes = 1; nodes <= 17; ++nodes)
        for (uint64_t seed = 1; seed <= 2; ++seed) {
            const Roster roster = make_roster(nodes, 1 + seed);
            for (JobOptions& options : jobs_of(roster.workers()))
                for (const uint32_t staleness_max : {0U, 2U, 32U}) {
                    SCOPED_TRACE(testing::Message()
                                 << nodes << " nodes, seed " << seed << ", "
                                 << kind_name(options.quorum) << ", staleness " << staleness_max);
                    options.staleness_max = staleness_max;
                    TestJob job(roster, options, seed);
                    Training training(job, seed);
                    for (uint64_t round = 0; round < 8; ++round) {
                        training.round(round);
                        if (testing::Test::HasFatalFailure()) return;
                    }
                    training.expect_nothing_lost(8);
                    if (testing::Test::HasFailure()) return;
                }
        }
}

DivideBy divided_by(uint64_t seed) {
    if (seed == 1) return DivideBy::one;
    return seed == 2 ? DivideBy::world : DivideBy::contributors;
}

double divisor_of(DivideBy how, size_t workers, size_t contributors) {
    if (how == DivideBy::one) return 1.0;
    return static_cast<double>(how == DivideBy::world ? workers : contributors);
}

// All workers arrive, in random order. The result is compared with the definition.
void expect_the_sum(const Roster& roster, const JobOptions& options, uint64_t seed) {
    base::Random random(seed);
    std::map<Rank, collectives::Worker> gradients;
    TestJob job(roster, options, seed);
    job.begin(0);
    std::vector<Rank> order = roster.ranks();
    for (const Rank rank : order)
        gradients[rank] = collectives::random_worker(options.layout, 1.0, random);
    shuffle(order, random);
    for (const Rank rank : order) {
        const size_t node = job.node_of(rank);
        Segments segments;
        for (const Bytes& bytes : gradients[rank].segments) segments.push_back(bytes.data());
        if (job.ended(node)) break;
        ASSERT_TRUE(job.store(node).hand_in(rank, segments, nullptr).ok());
        job.round(node).arrived(rank);
        for (size_t steps = random.below(8); steps > 0; --steps) job.network().progress();
    }
    job.run();
    job.expect_well();
    if (testing::Test::HasFatalFailure()) return;
    const RoundOutcome& outcome = *job.outcome(0);
    std::vector<std::vector<collectives::Worker>> given(job.size());
    std::vector<bool> contributes(job.size(), false);
    for (const Contributor& contributor : outcome.contributors) {
        EXPECT_EQ(contributor.staleness, 0U);
        given[job.node_of(contributor.rank)].push_back(gradients[contributor.rank]);
        contributes[job.node_of(contributor.rank)] = true;
    }
    const double divisor =
        divisor_of(options.divide_by, roster.workers(), outcome.contributors.size());
    EXPECT_EQ(outcome.divisor, divisor);
    EXPECT_EQ(job.result(0),
              collectives::reference_all_reduce(options.layout, given, 1.0 / divisor, contributes));
}

TEST(PartialRound, GivesTheSumOfTheListedContributorsInEveryType) {
    const Layout layout(
        {{DType::f32, 40}, {DType::f16, 33}, {DType::f64, 9}, {DType::bf16, 21}, {DType::f32, 0}});
    for (const size_t nodes : {1U, 2U, 3U, 5U, 8U, 13U})
        for (const bool is_small : {true, false})
            for (uint64_t seed = 1; seed <= 3; ++seed) {
                const Roster roster = make_roster(nodes, 3);
                for (JobOptions& options : jobs_of(roster.workers())) {
                    SCOPED_TRACE(testing::Message() << nodes << " nodes, seed " << seed << ", "
                                                    << kind_name(options.quorum));
                    options.layout = layout;
                    options.divide_by = divided_by(seed);
                    if (!is_small) options.all_reduce.small_bytes_max = 0;
                    expect_the_sum(roster, options, seed);
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
}

// The costs of a round beside the data, if all workers arrive at once: N-1 messages of activation,
// N⌈log2 N⌉ messages of agreement, and a message for each arrival that the counting node must hear
// of.
TEST(PartialRound, CostsAFewSmallMessagesBesidesTheData) {
    for (size_t nodes = 2; nodes <= 17; ++nodes) {
        size_t rounds = 0;
        while ((size_t{1} << rounds) < nodes) ++rounds;
        const Roster roster = make_roster(nodes, 1);
        for (JobOptions& options : jobs_of(nodes)) {
            TestJob job(roster, options);
            job.begin(3);
            job.run();
            // A worker arrives when the message of the worker before has reached all nodes.
            for (const Rank rank : roster.ranks()) {
                if (job.all_ended()) break;
                job.arrive(rank, 1);
                job.run();
            }
            job.expect_well();
            uint64_t messages = 0;
            for (size_t node = 0; node < nodes; ++node)
                messages += job.transport(node).counters().messages_sent;
            // A small vector takes Bruck's all-gather again.
            uint64_t expected = (nodes - 1) + 2 * nodes * rounds;
            // The counting node hears of each worker that does not start the round itself.
            const size_t counter = counting_node(3, nodes);
            size_t told = 0;
            if (is_counted(options.quorum)) told = arrivals_needed(options.quorum, nodes);
            if (options.quorum.kind == Quorum::Kind::majority)
                told = initiator(options.quorum.seed, 3, roster.ranks());
            expected += told - (counter < told ? 1 : 0);
            EXPECT_EQ(messages, expected) << nodes << " nodes, " << kind_name(options.quorum);
        }
    }
}

TEST(PartialRound, NodesThatGiveNothingSendNoPartials) {
    JobOptions options;
    options.quorum = {Quorum::Kind::solo, 0, 0};
    options.layout = Layout({{DType::f32, 30000}});
    TestJob job(make_roster(4, 1), options);
    job.begin(0);
    job.arrive(2, 5);
    job.run();
    job.expect_well();
    EXPECT_EQ(job.value(0), 5);
    // The owner of a block sends it to three nodes. The only contributor also sends three blocks.
    const uint64_t block = 30000;
    const uint64_t small = 1000;
    for (const size_t node : {0U, 1U, 3U})
        EXPECT_LT(job.round(node).traffic().bytes_sent, 3 * block + small) << node;
    EXPECT_GT(job.round(2).traffic().bytes_sent, 6 * block - small);
}

TEST(PartialRound, AQuorumOfQHasAtLeastQContributorsWhateverTheOrder) {
    for (uint64_t seed = 1; seed <= 30; ++seed)
        for (uint32_t q = 1; q <= 9; q += 2) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", q " << q);
            JobOptions options;
            options.quorum = {Quorum::Kind::count, q, 0};
            const Roster roster = make_roster(5, 3);
            ASSERT_GE(roster.workers(), 9U);
            base::Random random(seed);
            TestJob job(roster, options, seed);
            job.begin(seed);
            std::vector<Rank> order = roster.ranks();
            shuffle(order, random);
            for (uint32_t i = 0; i < q; ++i) {
                job.run();
                ASSERT_FALSE(job.ended(0));
                job.arrive(order[i], 1);
            }
            job.run();
            job.expect_well();
            EXPECT_EQ(job.outcome(0)->contributors.size(), q);
            EXPECT_EQ(job.value(0), q);
        }
}

TEST(PartialRound, AWorkerTooFarBehindHoldsTheRoundUpUntilItCallsOrDies) {
    for (const bool dies : {false, true}) {
        JobOptions options;
        options.quorum = {Quorum::Kind::solo, 0, 0};
        options.staleness_max = 2;
        TestJob job(make_roster(3, 1), options);
        for (uint64_t round = 0; round < 2; ++round) {
            job.begin(round);
            for (const Rank rank : {0U, 1U}) {
                if (!job.ended(rank)) job.arrive(rank, 1);
                job.run();
            }
            job.expect_well();
            for (const Rank rank : {0U, 1U}) job.store(rank).advance(rank, round + 1);
        }
        // Without worker 2 in round 2, its gradient would be three rounds old in round 3.
        job.begin(2);
        job.arrive(0, 1);
        job.run();
        EXPECT_TRUE(job.round(1).activated());
        EXPECT_FALSE(job.ended(0));
        EXPECT_EQ(job.round(2).awaited(), std::vector<Rank>{2});
        EXPECT_TRUE(job.round(1).awaited().empty());
        EXPECT_EQ(job.round(2).waiting_for(), std::vector<size_t>());
        if (dies) {
            job.store(2).leave(2);
        } else {
            ASSERT_TRUE(job.hand_in(2, 10).ok());
        }
        job.round(2).look_again();
        job.run();
        job.expect_well();
        const auto& contributors = job.outcome(0)->contributors;
        const auto found = std::find(contributors.begin(), contributors.end(), Contributor{2, 2});
        EXPECT_EQ(found == contributors.end(), dies);
    }
}

// Section 7.1 and Figure 9: rank i arrives i ms late. A worker is active if it arrives before the
// initiator's message. Later contributions are dropped here, so the contributors are the active
// workers.
TEST(PartialRound, SoloHasOneActiveWorkerOnAverageAndMajorityAHalf) {
    constexpr size_t kWorkers = 32;
    for (const Quorum quorum : {Quorum{Quorum::Kind::solo, 0, 0}, {Quorum::Kind::majority, 0, 5}}) {
        JobOptions options;
        options.quorum = quorum;
        options.late = Late::drop;
        TestJob job(make_roster(kWorkers, 1), options);
        const std::vector<Rank> ranks = job.roster().ranks();
        double active = 0;
        constexpr uint64_t kRounds = 256;
        for (uint64_t round = 0; round < kRounds; ++round) {
            job.begin(round);
            // A millisecond is longer than any message takes.
            for (size_t i = 0; i < ranks.size(); ++i) {
                const size_t node = job.node_of(ranks[i]);
                if (job.ended(node)) break;
                job.arrive(ranks[i], 1);
                job.run();
            }
            job.expect_well();
            active += static_cast<double>(job.outcome(0)->contributors.size());
            for (const Rank rank : ranks) job.store(job.node_of(rank)).advance(rank, round + 1);
        }
        const double mean = active / kRounds;
        std::cout << kind_name(quorum) << ": " << mean << " of " << kWorkers << " active\n";
        if (quorum.kind == Quorum::Kind::solo)
            EXPECT_EQ(mean, 1.0);
        else
            EXPECT_NEAR(mean, static_cast<double>(kWorkers + 1) / 2, 2.5);
    }
}

TEST(PartialRound, WithNothingToGiveTheSumIsZero) {
    JobOptions options;
    options.quorum = {Quorum::Kind::all, 0, 0};
    options.divide_by = DivideBy::contributors;
    options.staleness_max = UINT32_MAX;
    TestJob job(make_roster(3, 1), options);
    job.begin(0);
    for (const Rank rank : {0U, 1U, 2U}) job.round(job.node_of(rank)).arrived(rank);
    job.run();
    job.expect_well();
    EXPECT_EQ(job.value(1), 0);
    EXPECT_TRUE(job.outcome(0)->contributors.empty());
    EXPECT_EQ(job.outcome(0)->divisor, 1);
}

TEST(PartialRound, APlanThatDoesNotFitIsRefused) {
    JobOptions options;
    TestJob job(make_roster(1, 1), options);
    RoundPlan plan;
    plan.roster = job.roster();
    plan.group = {90, 1, {0}, 0, {}};
    plan.data_exchange = 90;
    Bytes result(job.options().layout.bytes());
    const auto outcome_of = [&](std::span<std::byte> memory) {
        PartialRound round(job.transport(0), plan, job.store(0));
        std::optional<base::Result<RoundOutcome>> outcome;
        base::spawn<base::Result<RoundOutcome>>(
            round.run([memory](size_t) { return memory; }),
            [&](base::Result<RoundOutcome> end) { outcome = std::move(end); });
        return outcome ? outcome->error().kind : base::ErrorKind::internal;
    };
    EXPECT_EQ(outcome_of(result), base::ErrorKind::invalid);
    plan.data_exchange = 91;
    plan.roster.nodes.emplace_back();
    EXPECT_EQ(outcome_of(result), base::ErrorKind::invalid);
}

// Copying a late gradient may take long. The round delays its taking for this, but still receives
// messages.
TEST(PartialRound, TakesNothingBeforeAllIsThereThatWasGiven) {
    HeldStrand held;
    JobOptions options;
    options.quorum = {Quorum::Kind::solo, 0, 0};
    options.strand = held.get();
    TestJob job(make_roster(2, 1), options);
    job.begin(0);
    job.arrive(0, 1);
    job.run();
    job.expect_well();
    ASSERT_EQ(*job.hand_in(1, 2), HandIn::copied);
    EXPECT_FALSE(job.store(1).is_made());
    job.begin(1);
    job.store(0).advance(0, 1);
    job.arrive(0, 4);
    job.run();
    EXPECT_TRUE(job.round(1).activated());
    EXPECT_FALSE(job.round(1).has_taken());
    while (held.tell()) job.run();
    job.expect_well();
    EXPECT_EQ(job.value(0), 6);
    EXPECT_EQ(job.outcome(1)->contributors.size(), 2U);
}

// Work that is done later, by any thread, has the same outcome.
TEST(PartialRound, NothingIsLostOrCountedTwiceWhoeverDoesTheWork) {
    HeldStrand held;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        JobOptions options;
        options.quorum = {Quorum::Kind::solo, 0, 0};
        options.strand = held.get();
        TestJob job(make_roster(1 + seed % 4, 3), options, seed);
        Training training(job, seed, [&held] { return held.tell(); });
        for (uint64_t round = 0; round < 8 && !testing::Test::HasFatalFailure(); ++round)
            training.round(round);
        training.expect_nothing_lost(8);
        if (testing::Test::HasFailure()) return;
    }
}

}  // namespace
}  // namespace pace::partial
