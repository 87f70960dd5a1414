#include "service/controller/policies/partial_reduce.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kDigest = 7;

JobOptions options_for(uint32_t world, uint32_t group_size) {
    JobOptions options;
    options.name = "test";
    options.world = world;
    options.group_size = group_size;
    options.group_min = 2;
    options.group_wait_ms = 50;
    options.history_window = 2 * ((world - 1 + group_size - 2) / (group_size - 1));
    return options;
}

using Received = GroupPolicy::Received;

// Runs a policy under a clock in milliseconds.
class PartialReduceTest : public ::testing::Test {
  protected:
    void start(const JobOptions& options) {
        policy_ = std::make_unique<PartialReduce>(options);
        for (Rank rank = 0; rank < options.world; ++rank) policy_->add_member(rank, 1, now_);
    }
    Received ready(Rank rank, uint32_t digest = kDigest) {
        return policy_->add_signal(Signal{rank, digest, 0, now_});
    }
    void pass(int ms) { now_ += milliseconds(ms); }

    // The members of the next group, sorted; empty if none is due.
    std::vector<Rank> group() {
        std::vector<Signal> signals;
        std::vector<Rank> ranks;
        if (policy_->next_group(now_, signals)) {
            for (const Signal& signal : signals) ranks.push_back(signal.rank);
        }
        std::sort(ranks.begin(), ranks.end());
        return ranks;
    }
    void release(const std::vector<Rank>& ranks) {
        for (const Rank rank : ranks) policy_->release(rank, now_);
    }
    // All members take a step of `ms`, so that the policy knows a median.
    void step_together(const std::vector<Rank>& ranks, int ms) {
        pass(ms);
        for (const Rank rank : ranks) {
            if (!policy_->is_waiting(rank)) ready(rank);
        }
        for (auto g = group(); !g.empty(); g = group()) release(g);
    }

    TimePoint now_{};
    std::unique_ptr<PartialReduce> policy_;
};

using Ranks = std::vector<Rank>;

TEST_F(PartialReduceTest, FormsGroupsOfExactlyPInOrderOfArrival) {
    start(options_for(5, 2));
    ready(3);
    EXPECT_EQ(group(), Ranks{});
    ready(1);
    ready(4);
    ready(0);
    ready(2);
    EXPECT_EQ(group(), (Ranks{1, 3}));
    EXPECT_EQ(group(), (Ranks{0, 4}));
    EXPECT_EQ(group(), Ranks{});
}

TEST_F(PartialReduceTest, ClosesASmallerGroupAfterGroupWaitButNotBelowGroupMin) {
    start(options_for(5, 4));
    ready(0);
    pass(60);
    EXPECT_EQ(group(), Ranks{});
    ready(1);
    EXPECT_EQ(group(), (Ranks{0, 1}));
}

TEST_F(PartialReduceTest, TellsWhenASmallerGroupIsDue) {
    start(options_for(5, 4));
    ready(0);
    pass(10);
    ready(1);
    EXPECT_EQ(policy_->next_deadline(), now_ + milliseconds(40));
    pass(40);
    EXPECT_EQ(group(), (Ranks{0, 1}));
    EXPECT_FALSE(policy_->next_deadline().has_value());
}

TEST_F(PartialReduceTest, ShrinksPToTheWorkersThatRemain) {
    start(options_for(4, 4));
    ready(0);
    ready(1);
    policy_->remove_member(2);
    EXPECT_EQ(group(), Ranks{});
    policy_->remove_member(3);
    EXPECT_EQ(group(), (Ranks{0, 1}));
}

TEST_F(PartialReduceTest, GivesAWorkerThatIsAloneItsOwnModelAtOnce) {
    start(options_for(2, 2));
    policy_->remove_member(1);
    ready(0);
    EXPECT_EQ(group(), Ranks{0});
}

TEST_F(PartialReduceTest, ForgetsTheSignalOfAWorkerThatIsGone) {
    start(options_for(4, 2));
    ready(0);
    policy_->remove_member(0);
    ready(1);
    EXPECT_EQ(group(), Ranks{});
    ready(2);
    EXPECT_EQ(group(), (Ranks{1, 2}));
}

TEST_F(PartialReduceTest, RefusesTheSignalOfAWorkerThatWaitsAlreadyOrIsNoMember) {
    start(options_for(4, 3));
    ready(2);
    ready(0);
    for (const uint32_t digest : {kDigest, kDigest + 1}) {
        EXPECT_EQ(ready(2, digest), Received::refused);
        EXPECT_EQ(ready(0, digest), Received::refused);
    }
    EXPECT_EQ(ready(4), Received::refused);
    EXPECT_EQ(ready(kNoRank), Received::refused);
    policy_->remove_member(1);
    EXPECT_EQ(ready(1), Received::refused);
    EXPECT_EQ(policy_->view().waiting.size(), 2U);
    EXPECT_EQ(policy_->view().counted, 3U);
    ready(3);
    EXPECT_EQ(group(), (Ranks{0, 2, 3}));
}

TEST_F(PartialReduceTest, NeverMixesDigestsAndLetsAMinorityCloseAloneAtTheEnd) {
    start(options_for(3, 2));
    EXPECT_EQ(ready(0), Received::queued);
    EXPECT_EQ(ready(1, 99), Received::stray);
    EXPECT_EQ(group(), Ranks{});
    ready(2);
    EXPECT_EQ(group(), (Ranks{0, 2}));
    pass(49);
    EXPECT_EQ(group(), Ranks{});
    pass(1);
    EXPECT_EQ(group(), Ranks{1});
}

TEST_F(PartialReduceTest, GivesUpOnAWorkerThatHasFrozen) {
    start(options_for(2, 2));
    for (int i = 0; i < 20; ++i) step_together({0, 1}, 10);
    pass(10);
    ready(0);
    EXPECT_EQ(group(), Ranks{});
    // Ten median steps are shorter than the minimum of a second.
    pass(989);
    EXPECT_EQ(group(), Ranks{});
    pass(1);
    ASSERT_LE(*policy_->next_deadline(), now_);
    EXPECT_EQ(group(), Ranks{0});
    EXPECT_TRUE(policy_->is_frozen(1));
    ready(1);
    EXPECT_FALSE(policy_->is_frozen(1));
}

// Workers 0 and 1 step in phase, and 2 and 3 half a step later. Without the filter 0 would meet
// only 1 forever.
TEST_F(PartialReduceTest, PreventsTwoPairsThatNeverMeet) {
    start(options_for(4, 2));
    std::vector<Ranks> groups;
    std::vector<std::vector<Rank>> computing;
    const auto signal = [&](Rank rank) {
        if (!policy_->is_waiting(rank)) ready(rank);
        for (auto g = group(); !g.empty(); g = group()) {
            groups.push_back(g);
            release(g);
        }
    };
    for (int step = 0; step < 20; ++step) {
        signal(0);
        signal(1);
        pass(5);
        signal(2);
        signal(3);
        pass(5);
    }
    const auto crosses = [](const Ranks& g) { return (g[0] < 2) != (g[1] < 2); };
    EXPECT_GE(std::count_if(groups.begin(), groups.end(), crosses), 3);
    // Any window of T = 6 groups after the first contains a bridge.
    for (size_t first = 1; first + 6 < groups.size(); ++first) {
        EXPECT_TRUE(std::any_of(groups.begin() + static_cast<std::ptrdiff_t>(first),
                                groups.begin() + static_cast<std::ptrdiff_t>(first + 7), crosses));
    }
    EXPECT_EQ(policy_->view().components, 1U);
}

TEST_F(PartialReduceTest, HoldsAGroupForABridgeAtMostGroupWait) {
    start(options_for(4, 2));
    for (int i = 0; i < 6; ++i) step_together({0, 1}, 5);
    pass(5);
    ready(0);
    ready(1);
    EXPECT_EQ(group(), Ranks{});
    EXPECT_TRUE(policy_->view().holding);
    ASSERT_TRUE(policy_->next_deadline().has_value());
    EXPECT_LE(*policy_->next_deadline(), now_ + milliseconds(50));
    now_ = *policy_->next_deadline();
    EXPECT_EQ(group(), (Ranks{0, 1}));
    // The next hold is a window of groups away: a straggler must not delay the others every time.
    release({0, 1});
    pass(5);
    ready(0);
    ready(1);
    EXPECT_EQ(group(), (Ranks{0, 1}));
}

// Decision 0007: group_wait limits all of a worker's waiting for better members.
TEST_F(PartialReduceTest, DoesNotHoldASmallGroupThatHasWaitedAlready) {
    start(options_for(5, 3));
    for (int i = 0; i < 4; ++i) step_together({0, 1, 2}, 5);  // the window of T = 4 is full
    pass(5);
    ready(0);
    ready(1);
    EXPECT_EQ(group(), Ranks{});
    EXPECT_FALSE(policy_->view().holding);
    EXPECT_EQ(policy_->next_deadline(), now_ + milliseconds(50));
    pass(50);
    EXPECT_EQ(group(), (Ranks{0, 1}));
    // A full group would have been held here.
    release({0, 1});
    pass(5);
    for (const Rank rank : {0U, 1U, 2U}) ready(rank);
    EXPECT_EQ(group(), Ranks{});
    EXPECT_TRUE(policy_->view().holding);
}

TEST_F(PartialReduceTest, LetsOthersPassAGroupThatIsHeld) {
    start(options_for(8, 2));
    // The first six are one component, as three pairs that change partners; 6 and 7 are slow.
    const std::vector<Rank> order = {0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 0};
    for (int i = 0; i < 4; ++i) {
        for (const Rank rank : order) {
            ready(rank);
            if (const auto g = group(); !g.empty()) release(g);
        }
        if (policy_->view().holding) break;
        pass(5);
    }
    ASSERT_TRUE(policy_->view().holding);
    const std::vector<Signal> held = policy_->view().waiting;
    ASSERT_EQ(held.size(), 2U);
    const TimePoint held_until = *policy_->next_deadline();

    Ranks others = {0, 1, 2, 3, 4, 5};
    for (const Signal& signal : held) std::erase(others, signal.rank);
    for (size_t i = 0; i < 4; i += 2) {
        ready(others[i]);
        EXPECT_EQ(group(), Ranks{});
        ready(others[i + 1]);
        EXPECT_EQ(group(), (Ranks{others[i], others[i + 1]}));
    }
    EXPECT_EQ(policy_->next_deadline(), held_until);
    ready(7);
    EXPECT_EQ(group(), (Ranks{held[0].rank, 7}));
    EXPECT_FALSE(policy_->view().holding);
}

TEST_F(PartialReduceTest, ForgetsAHoldWhenItsSignalsAreGone) {
    start(options_for(4, 2));
    for (int i = 0; i < 6; ++i) step_together({0, 1}, 5);
    pass(5);
    ready(0);
    ready(1);
    EXPECT_EQ(group(), Ranks{});
    ASSERT_TRUE(policy_->view().holding);
    policy_->withdraw(0, now_);
    policy_->remove_member(1);
    EXPECT_FALSE(policy_->view().holding);
    EXPECT_FALSE(policy_->next_deadline().has_value());
}

TEST_F(PartialReduceTest, HoldsLongerAfterEachHoldInVain) {
    JobOptions options = options_for(4, 2);
    options.group_wait_ms = 900;
    start(options);
    std::vector<Duration> holds;
    for (int i = 0; i < 200; ++i) {
        pass(2);
        for (const Rank rank : {0U, 1U}) {
            if (!policy_->is_waiting(rank)) ready(rank);
        }
        if (const auto g = group(); !g.empty()) {
            release(g);
            continue;
        }
        holds.push_back(*policy_->next_deadline() - now_);
        now_ = *policy_->next_deadline();
        release(group());
    }
    ASSERT_GE(holds.size(), 5U);
    for (size_t i = 1; i < 4; ++i) EXPECT_GE(holds[i], holds[i - 1] * 3 / 2) << i;
}

TEST_F(PartialReduceTest, TakesTheEarliestSignalThatBridges) {
    start(options_for(4, 2));
    for (int i = 0; i < 6; ++i) step_together({0, 1}, 5);
    pass(5);
    ready(0);
    ready(1);
    EXPECT_EQ(group(), Ranks{});
    ready(3);
    EXPECT_EQ(group(), (Ranks{0, 3}));
    EXPECT_EQ(policy_->bridged_groups(), 1U);
    ready(2);
    EXPECT_EQ(group(), (Ranks{1, 2}));
}

TEST_F(PartialReduceTest, NeverHoldsForAWorkerThatIsDeadOrFrozen) {
    start(options_for(4, 2));
    for (int i = 0; i < 20; ++i) step_together({0, 1}, 5);
    policy_->remove_member(2);
    pass(1000);  // worker 3 freezes
    ready(0);
    ready(1);
    EXPECT_EQ(group(), (Ranks{0, 1}));
}

// Worker 3 averages other buffers: nobody can average with it, so nobody waits for it.
TEST_F(PartialReduceTest, NeverHoldsForAWorkerOfAnotherKind) {
    start(options_for(4, 2));
    EXPECT_EQ(ready(0), Received::queued);
    EXPECT_EQ(ready(3, 99), Received::stray);
    ready(1);
    EXPECT_EQ(group(), (Ranks{0, 1}));
    release({0, 1});
    for (int i = 0; i < 40; ++i) {
        pass(2);
        if (group() == Ranks{3}) release({3});  // alone, after its group_wait
        const Ranks pairs[] = {{0, 1}, {1, 2}, {0, 2}};
        for (const Rank rank : pairs[i % 3]) ready(rank);
        EXPECT_EQ(group(), pairs[i % 3]) << i;
        EXPECT_FALSE(policy_->view().holding);
        release(pairs[i % 3]);
        if (!policy_->is_waiting(3)) {
            EXPECT_EQ(ready(3, 99), Received::queued);
        }
    }
    EXPECT_EQ(policy_->view().components, 1U);
}

TEST_F(PartialReduceTest, KeepsConnectedWhateverKindMostAre) {
    start(options_for(4, 2));
    for (int i = 0; i < 6; ++i) step_together({0, 1}, 5);
    // All workers switch to other buffers, and continue in separate pairs.
    constexpr uint32_t kOther = 99;
    std::vector<Ranks> groups;
    for (int i = 0; i < 20; ++i) {
        for (const Ranks& pair : {Ranks{0, 1}, Ranks{2, 3}}) {
            for (const Rank rank : pair) {
                if (!policy_->is_waiting(rank)) ready(rank, kOther);
            }
            for (auto g = group(); !g.empty(); g = group()) {
                release(g);
                groups.push_back(g);
            }
            pass(5);
        }
    }
    EXPECT_EQ(policy_->view().components, 1U);
    EXPECT_TRUE(std::any_of(groups.begin(), groups.end(),
                            [](const Ranks& g) { return (g[0] < 2) != (g.back() < 2); }));
}

}  // namespace
}  // namespace pace::controller
