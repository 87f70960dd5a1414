#include "service/controller/policies/prague.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kBuffersDigest = 7;

using Ranks = std::vector<Rank>;

JobOptions options_for(Policy policy, uint32_t world, uint32_t group_size) {
    JobOptions options;
    options.name = "test";
    options.world = world;
    options.policy = policy;
    options.group_size = group_size;
    options.history_window = 2 * world;
    options.progress_gap = 4;
    return options;
}

// Runs a policy under a clock in milliseconds. Worker r is on node r / per_node + 1.
class PragueTest : public ::testing::Test {
  protected:
    void start(const JobOptions& options, uint32_t per_node = 1, uint64_t seed = 1) {
        policy_ = make_policy(options, seed);
        per_node_ = per_node;
        for (Rank rank = 0; rank < options.world; ++rank) join(rank);
    }
    void join(Rank rank) { policy_->add_member(rank, rank / per_node_ + 1, now_); }
    void ready(Rank rank, uint32_t digest = kBuffersDigest) {
        policy_->add_signal(Signal{rank, digest, 0, now_});
    }
    void pass(Duration time) { now_ += time; }

    // All due groups in order, each sorted.
    std::vector<Ranks> groups() {
        std::vector<Ranks> all;
        std::vector<Signal> signals;
        while (policy_->next_group(now_, signals)) {
            Ranks& group = all.emplace_back();
            for (const Signal& signal : signals) group.push_back(signal.rank);
            std::sort(group.begin(), group.end());
        }
        return all;
    }
    void release(const std::vector<Ranks>& groups) {
        for (const Ranks& group : groups)
            for (const Rank rank : group) policy_->release(rank, now_);
    }
    // All ranks signal; the groups that form end at once.
    std::vector<Ranks> round(const Ranks& ranks) {
        for (const Rank rank : ranks) ready(rank);
        std::vector<Ranks> formed = groups();
        release(formed);
        pass(milliseconds(1));
        return formed;
    }

    TimePoint now_{seconds(1)};
    uint32_t per_node_ = 1;
    std::unique_ptr<GroupPolicy> policy_;
};

Ranks range(Rank world) {
    Ranks ranks(world);
    std::iota(ranks.begin(), ranks.end(), 0U);
    return ranks;
}

std::vector<size_t> sizes_of(const std::vector<Ranks>& groups) {
    std::vector<size_t> sizes;
    for (const Ranks& group : groups) sizes.push_back(group.size());
    std::sort(sizes.begin(), sizes.end());
    return sizes;
}

TEST_F(PragueTest, RandomNamesAGroupOfItsSizeWithTheOneWhoAsks) {
    start(options_for(Policy::prague_random, 9, 3));
    ready(4);
    EXPECT_TRUE(groups().empty());
    // Whichever others it has drawn, the group runs when they have signalled.
    std::vector<Ranks> formed;
    for (const Rank rank : {0U, 1U, 2U, 3U, 5U, 6U, 7U, 8U}) {
        ready(rank);
        for (const Ranks& group : groups()) formed.push_back(group);
    }
    const auto first = std::find_if(formed.begin(), formed.end(), [](const Ranks& group) {
        return std::find(group.begin(), group.end(), 4U) != group.end();
    });
    ASSERT_NE(first, formed.end());
    EXPECT_EQ(first->size(), 3U);
}

TEST_F(PragueTest, RandomDrawsEveryoneAlike) {
    start(options_for(Policy::prague_random, 6, 2));
    std::vector<size_t> drawn(6);
    size_t all = 0;
    for (int i = 0; i < 3000; ++i)
        for (const Ranks& group : round(range(6)))
            if (group.front() == 0) {
                ++drawn[group[1]];
                ++all;
            }
    EXPECT_GT(all, 1000U);
    const double fair = static_cast<double>(all) / 5;
    for (Rank rank = 1; rank < 6; ++rank)
        EXPECT_NEAR(static_cast<double>(drawn[rank]), fair, fair / 4);
}

TEST_F(PragueTest, AdPsgdFormsPairs) {
    start(options_for(Policy::ad_psgd, 8, 2));
    size_t pairs = 0;
    for (int i = 0; i < 50; ++i)
        for (const Ranks& group : round(range(8))) {
            EXPECT_EQ(group.size(), 2U);
            ++pairs;
        }
    EXPECT_GT(pairs, 50U);
}

TEST_F(PragueTest, FullTakesEveryoneEachTime) {
    start(options_for(Policy::full, 5, 5));
    for (int i = 0; i < 3; ++i) {
        for (const Rank rank : {3U, 0U, 4U, 1U}) ready(rank);
        EXPECT_TRUE(groups().empty());
        const auto formed = round({2});
        ASSERT_EQ(formed.size(), 1U);
        EXPECT_EQ(formed[0], range(5));
    }
}

TEST_F(PragueTest, NobodyWaitsForTheDead) {
    start(options_for(Policy::full, 4, 4));
    for (const Rank rank : {0U, 1U, 2U}) ready(rank);
    policy_->remove_member(3);
    EXPECT_EQ(groups(), (std::vector<Ranks>{{0, 1, 2}}));
}

// Section 5.1, Figure 11: the second request finds the group left by the first one's division.
TEST_F(PragueTest, SmartDividesAllWhoAreInNoGroup) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        start(options_for(Policy::prague_smart, 4, 2), 1, seed);
        const auto formed = round(range(4));
        EXPECT_EQ(sizes_of(formed), (std::vector<size_t>{2, 2}));
    }
}

TEST_F(PragueTest, SmartLeavesNobodyAlone) {
    start(options_for(Policy::prague_smart, 7, 3));
    EXPECT_EQ(sizes_of(round(range(7))), (std::vector<size_t>{3, 4}));
    start(options_for(Policy::prague_smart, 5, 3));
    EXPECT_EQ(sizes_of(round(range(5))), (std::vector<size_t>{2, 3}));
}

// Section 5.3, Figure 13.
TEST_F(PragueTest, SmartDoesNotLetTheFastWaitForTheSlow) {
    start(options_for(Policy::prague_smart, 5, 2));
    round(range(5));
    // The worker in a group with the slow one waits for it, once.
    size_t rounds = 0;
    for (int i = 0; i < 20; ++i) {
        Ranks fast;
        for (const Rank rank : {0U, 1U, 2U, 3U})
            if (!policy_->is_waiting(rank)) fast.push_back(rank);
        rounds += round(fast).size();
    }
    EXPECT_GE(rounds, 20U);
    // When the slow worker signals, it gets a group at once with workers that are free.
    round({4});
    for (int i = 0; i < 3 && policy_->is_waiting(4); ++i) {
        Ranks fast;
        for (const Rank rank : {0U, 1U, 2U, 3U})
            if (!policy_->is_waiting(rank)) fast.push_back(rank);
        round(fast);
    }
    EXPECT_FALSE(policy_->is_waiting(4));
}

// Section 5.2, Figure 12.
TEST_F(PragueTest, SmartGoesAmongTheNodesFirstThenWithinEach) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        start(options_for(Policy::prague_smart, 16, 4), 4, seed);
        const auto inter = round(range(16));
        size_t among = 0;
        for (const Ranks& group : inter) {
            std::vector<Rank> nodes;
            for (const Rank rank : group) nodes.push_back(rank / 4);
            nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
            if (nodes.size() == 1) continue;
            ++among;
            EXPECT_EQ(group.size(), 4U) << "the four head workers";
            EXPECT_EQ(nodes.size(), 4U);
        }
        EXPECT_EQ(among, 1U);
        auto intra = round(range(16));
        std::sort(intra.begin(), intra.end());
        EXPECT_EQ(intra, (std::vector<Ranks>{
                             {0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
    }
}

// With two workers on each node, the second would be alone: it joins its head worker.
TEST_F(PragueTest, SmartLetsNobodyBeAloneBesideAHeadWorker) {
    start(options_for(Policy::prague_smart, 4, 2), 2);
    EXPECT_EQ(round(range(4)), (std::vector<Ranks>{{0, 1, 2, 3}}));
    auto intra = round(range(4));
    std::sort(intra.begin(), intra.end());
    EXPECT_EQ(intra, (std::vector<Ranks>{{0, 1}, {2, 3}}));
}

TEST_F(PragueTest, WhoIsLeftAloneGetsAnotherGroup) {
    start(options_for(Policy::prague_smart, 4, 2));
    ready(0);
    // Two of the three possible partners of 0 die.
    for (const Rank rank : {1U, 2U}) policy_->remove_member(rank);
    ready(3);
    EXPECT_EQ(groups(), (std::vector<Ranks>{{0, 3}}));
}

TEST_F(PragueTest, OneAloneInTheJobGetsItsOwnModelBack) {
    for (const Policy policy : {Policy::prague_random, Policy::prague_smart, Policy::ad_psgd}) {
        start(options_for(policy, 1, 2));
        EXPECT_EQ(round({0}), (std::vector<Ranks>{{0}}));
    }
}

TEST_F(PragueTest, AWorkerThatDoesNotSignalIsFrozenAndNobodyWaitsForIt) {
    start(options_for(Policy::full, 3, 3));
    ready(0);
    ready(1);
    EXPECT_TRUE(groups().empty());
    ASSERT_TRUE(policy_->next_deadline());
    pass(*policy_->next_deadline() - now_);
    EXPECT_EQ(groups(), (std::vector<Ranks>{{0, 1}}));
    EXPECT_TRUE(policy_->is_frozen(2));
    EXPECT_EQ(policy_->view().counted, 2U);
    ready(2);
    EXPECT_FALSE(policy_->is_frozen(2));
}

TEST_F(PragueTest, AWorkerThatIsStoppedIsFrozenAtOnce) {
    start(options_for(Policy::full, 3, 3));
    ready(0);
    policy_->freeze(0);  // it waits, and loses nothing
    ready(1);
    EXPECT_TRUE(groups().empty());
    policy_->freeze(2);
    EXPECT_EQ(groups(), (std::vector<Ranks>{{0, 1}}));
    EXPECT_TRUE(policy_->is_frozen(2));
    EXPECT_FALSE(policy_->is_frozen(0));
}

TEST_F(PragueTest, ASignalThatIsTakenBackFreesTheOthers) {
    start(options_for(Policy::full, 3, 3));
    ready(0);
    ready(1);
    EXPECT_TRUE(policy_->withdraw(1, now_));
    EXPECT_FALSE(policy_->withdraw(1, now_));
    ready(2);
    EXPECT_EQ(groups(), (std::vector<Ranks>{{0, 2}}));
}

TEST_F(PragueTest, MembersWithOtherBuffersAreGroupsOfTheirOwn) {
    start(options_for(Policy::full, 4, 4));
    ready(0);
    ready(1, 8);
    ready(2);
    ready(3, 8);
    auto formed = groups();
    std::sort(formed.begin(), formed.end());
    EXPECT_EQ(formed, (std::vector<Ranks>{{0, 2}, {1, 3}}));
}

TEST_F(PragueTest, ANewcomerIsNotTakenForASlowOne) {
    start(options_for(Policy::prague_smart, 4, 4));
    for (int i = 0; i < 10; ++i) round(range(4));
    policy_->remove_member(3);
    join(3);
    const auto formed = round(range(4));
    EXPECT_EQ(formed, (std::vector<Ranks>{range(4)}));
}

// Workers join, leave, withdraw and fall silent at any time, under any policy. Groups are disjoint,
// every signal is answered once, and nobody waits forever.
class Churn : public ::testing::TestWithParam<Policy> {};
INSTANTIATE_TEST_SUITE_P(Policies, Churn,
                         testing::Values(Policy::prague_random, Policy::prague_smart,
                                         Policy::ad_psgd, Policy::full));

class World {
  public:
    enum class State : uint8_t { gone, computing, waiting, exchanging, silent };

    World(const JobOptions& options, uint32_t per_node, uint64_t seed)
        : random_(seed), per_node_(per_node), states_(options.world), until_(options.world) {
        policy_ = make_policy(options, seed);
        for (Rank rank = 0; rank < options.world; ++rank) come(rank);
    }

    void step(bool calm) {
        now_ += milliseconds(1);
        for (Rank rank = 0; rank < states_.size(); ++rank) move(rank, calm);
        std::vector<Signal> signals;
        while (policy_->next_group(now_, signals)) run(signals);
    }

    // The longest time that any worker has been waiting.
    Duration longest_wait() const {
        Duration longest{};
        for (Rank rank = 0; rank < states_.size(); ++rank)
            if (states_[rank] == State::waiting) longest = std::max(longest, now_ - until_[rank]);
        return longest;
    }
    uint64_t groups() const { return groups_; }

  private:
    void come(Rank rank) {
        policy_->add_member(rank, rank / per_node_ + 1, now_);
        compute(rank);
    }
    void compute(Rank rank) {
        states_[rank] = State::computing;
        until_[rank] = now_ + milliseconds(1 + random_.below(rank == 0 ? 50 : 10));
    }
    void move(Rank rank, bool calm) {
        const uint64_t chance = calm ? 1 : random_.below(400);
        State& state = states_[rank];
        if (state == State::gone || state == State::silent) {
            if (calm || chance == 0) {
                if (state == State::silent) policy_->remove_member(rank);
                come(rank);
            }
        } else if (chance == 0) {
            policy_->remove_member(rank);
            state = State::gone;
        } else if (chance == 2 && state == State::computing) {
            state = State::silent;
        } else if (chance == 3 && state == State::waiting) {
            EXPECT_TRUE(policy_->withdraw(rank, now_));
            compute(rank);
        } else if (state == State::computing && now_ >= until_[rank]) {
            EXPECT_NE(policy_->add_signal({rank, kBuffersDigest, 0, now_}),
                      GroupPolicy::Received::refused);
            state = State::waiting;
            until_[rank] = now_;
        } else if (state == State::exchanging && now_ >= until_[rank]) {
            policy_->release(rank, now_);
            compute(rank);
        }
    }
    void run(const std::vector<Signal>& signals) {
        ++groups_;
        EXPECT_FALSE(signals.empty());
        const TimePoint end = now_ + milliseconds(1 + random_.below(5));
        for (const Signal& signal : signals) {
            EXPECT_EQ(states_[signal.rank], State::waiting) << "rank " << signal.rank;
            states_[signal.rank] = State::exchanging;
            until_[signal.rank] = end;
        }
    }

    base::Random random_;
    uint32_t per_node_;
    TimePoint now_{seconds(1)};
    std::unique_ptr<GroupPolicy> policy_;
    std::vector<State> states_;
    std::vector<TimePoint> until_;  // while waiting: the start of the wait
    uint64_t groups_ = 0;
};

TEST_P(Churn, StopsNobodyForLong) {
    uint64_t seed = 1;
    for (const uint32_t world : {1U, 2U, 3U, 5U, 8U, 13U, 17U})
        for (const uint32_t size : {2U, 3U, 5U})
            for (const uint32_t per_node : {1U, 3U, 4U}) {
                const bool is_pair = GetParam() == Policy::ad_psgd;
                const uint32_t most = std::max(2U, world);
                const uint32_t group_size =
                    GetParam() == Policy::full ? most : std::min(is_pair ? 2 : size, most);
                World workers(options_for(GetParam(), world, group_size), per_node, ++seed);
                for (int i = 0; i < 1500; ++i) workers.step(false);
                // A silent member freezes after a second; a chain may wait for several.
                EXPECT_LT(workers.longest_wait(), seconds(2)) << world << ", " << size;
                for (int i = 0; i < 1500; ++i) workers.step(true);
                EXPECT_LT(workers.longest_wait(), seconds(1)) << world << ", " << size;
                EXPECT_GT(workers.groups(), 10U);
                if (::testing::Test::HasFailure()) return;
            }
}

}  // namespace
}  // namespace pace::controller
