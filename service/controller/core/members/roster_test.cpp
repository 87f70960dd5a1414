#include "service/controller/core/members/roster.h"

#include <random>

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

constexpr Rank kRanks = 4;
constexpr NodeId kHere = 7;

class RosterTest : public testing::Test {
  protected:
    // Takes a rank through joining, the job's start or an admission, so that it is a member.
    void make_member(Rank rank) {
        roster_.make_room();
        roster_.enter(rank, kHere, WorkerState::joined, turn_);
        roster_.make_members(std::vector{Member{rank, kHere}});
    }
    // A roster that has replayed what the journal has.
    Roster replayed() {
        Roster roster(1, kRanks, nodes_);
        for (const Action& action : actions_) {
            const auto* append = std::get_if<JournalAppend>(&action);
            if (append == nullptr) continue;
            const JournalRecord record = decode(append->record).value();
            roster.replay(std::get<PlacementRecord>(record), true);
        }
        return roster;
    }

    CoreOptions options_;
    Membership nodes_{options_, [] { return uint64_t{1}; }};
    Actions actions_;
    Turn turn_{TimePoint(std::chrono::seconds(1)), actions_};
    Roster roster_{1, kRanks, nodes_};
};

TEST_F(RosterTest, AJobThatNobodyJoinsUsesNoMemory) {
    EXPECT_TRUE(roster_.workers().empty());
    EXPECT_EQ(roster_.find(0), nullptr);
    EXPECT_EQ(roster_.live_at(kHere, 0), nullptr);
    roster_.make_room();
    EXPECT_EQ(roster_.workers().size(), kRanks);
    EXPECT_EQ(roster_.find(kRanks), nullptr);
}

TEST_F(RosterTest, CountsWhoIsThereAndWhoWas) {
    roster_.make_room();
    roster_.enter(0, kHere, WorkerState::joined, turn_);
    roster_.enter(1, kHere, WorkerState::joined, turn_);
    EXPECT_EQ(roster_.live(), 2U);
    EXPECT_EQ(roster_.seen(), 2U);
    roster_.go(0, Departure::left, turn_);
    EXPECT_EQ(roster_.live(), 1U);
    EXPECT_FALSE(roster_.has_unsettled());
    roster_.go(1, Departure::died, turn_);
    EXPECT_EQ(roster_.live(), 0U);
    EXPECT_TRUE(roster_.has_unsettled());
    roster_.enter(1, kHere, WorkerState::newcomer, turn_);
    EXPECT_FALSE(roster_.has_unsettled());
    EXPECT_EQ(roster_.seen(), 2U) << "a rank that is taken again is no other rank";
}

TEST_F(RosterTest, TheNodesWorkersAreCountedAtTheNode) {
    Hello hello;
    hello.name = "a";
    const NodeId node = nodes_.attach(hello, turn_);
    roster_.make_room();
    roster_.enter(0, node, WorkerState::joined, turn_);
    EXPECT_EQ(nodes_.find(node)->workers, 1U);
    roster_.go(0, Departure::with_node, turn_);
    EXPECT_EQ(nodes_.find(node)->workers, 0U);
}

TEST_F(RosterTest, AWorkerIsLiveAtItsOwnNodeOnly) {
    make_member(0);
    EXPECT_NE(roster_.live_at(kHere, 0), nullptr);
    EXPECT_EQ(roster_.live_at(kHere + 1, 0), nullptr);
    EXPECT_EQ(roster_.live_at(kHere, 1), nullptr);
    roster_.suspend(0, turn_);
    EXPECT_NE(roster_.live_at(kHere, 0), nullptr);
    roster_.go(0, Departure::died, turn_);
    EXPECT_EQ(roster_.live_at(kHere, 0), nullptr);
}

TEST_F(RosterTest, OnlyWhoWentWithItsNodeMayReturn) {
    for (Rank rank = 0; rank < kRanks; ++rank) make_member(rank);
    roster_.go(0, Departure::left, turn_);
    roster_.go(1, Departure::died, turn_);
    roster_.go(2, Departure::with_node, turn_);
    roster_.go(3, Departure::with_all_of_it, turn_);
    const auto of = [this](Rank rank) {
        return std::pair(roster_.at(rank).may_return, roster_.at(rank).node_was_lost);
    };
    EXPECT_EQ(of(0), std::pair(false, false));
    EXPECT_EQ(of(1), std::pair(false, false));
    EXPECT_EQ(of(2), std::pair(true, true));
    EXPECT_EQ(of(3), std::pair(true, false)) << "its process died with the node";
    roster_.enter(2, kHere, WorkerState::newcomer, turn_);
    EXPECT_TRUE(roster_.at(2).may_return) << "until it has called";
    roster_.expect_no_return();
    EXPECT_FALSE(roster_.at(2).may_return);
}

TEST_F(RosterTest, AnAdmittedWorkerThatGetsNoModelIsANewcomerAgain) {
    roster_.make_room();
    roster_.enter(0, kHere, WorkerState::newcomer, turn_);
    roster_.admit(0, true, turn_);
    EXPECT_EQ(roster_.at(0).state, WorkerState::admitted);
    EXPECT_TRUE(roster_.at(0).wants_model);
    roster_.send_back(0, turn_);
    EXPECT_EQ(roster_.at(0).state, WorkerState::newcomer);
    EXPECT_FALSE(roster_.at(0).wants_model);
    EXPECT_TRUE(replayed().has(WorkerState::newcomer));
}

TEST_F(RosterTest, MembersThatDoNotComeBackAreGivenUpOnce) {
    roster_.make_room();
    roster_.enter(1, kHere, WorkerState::joined, turn_);
    roster_.expect_members();
    EXPECT_EQ(roster_.seen(), kRanks);
    EXPECT_TRUE(roster_.has(WorkerState::missing));
    EXPECT_EQ(roster_.give_up_missing(turn_), (std::vector<Rank>{0, 2, 3}));
    EXPECT_EQ(roster_.give_up_missing(turn_), std::vector<Rank>{});
    EXPECT_TRUE(roster_.at(0).node_was_lost);
    EXPECT_EQ(roster_.at(1).state, WorkerState::joined);
}

// What a restarted controller takes a worker for, by what it was.
WorkerState after_restart(WorkerState state) {
    switch (state) {
        case WorkerState::admitted:
        case WorkerState::member:
            return WorkerState::missing;
        case WorkerState::joined:  // the job has begun, so that this is a newcomer
        case WorkerState::newcomer:
        case WorkerState::suspended:
            return WorkerState::lost;
        default:
            return state;
    }
}

// Any sequence of changes, of which the journal has each.
TEST_F(RosterTest, TheJournalHasEveryChange) {
    roster_.make_room();
    std::mt19937 random(1);
    for (int step = 0; step < 2000; ++step) {
        const Rank rank = static_cast<Rank>(random() % kRanks);
        const WorkerState state = roster_.at(rank).state;
        const auto how = static_cast<Departure>(random() % 4);
        if (!is_live(state))
            roster_.enter(rank, kHere, WorkerState::newcomer, turn_);
        else if (random() % 3 == 0)
            roster_.go(rank, how, turn_);
        else if (is_taking_part(state))
            roster_.suspend(rank, turn_);
        else
            roster_.admit(rank, random() % 2 == 0, turn_);
        if (step % 50 != 0) continue;

        Roster restarted = replayed();
        std::vector<JournalRecord> before;
        std::vector<JournalRecord> after;
        roster_.append_records(before);
        restarted.append_records(after);
        EXPECT_EQ(before, after) << "step " << step;
        restarted.replay_finished();
        for (Rank each = 0; each < kRanks; ++each) {
            const Worker& was = roster_.at(each);
            EXPECT_EQ(restarted.at(each).state, after_restart(was.state)) << "step " << step;
            if (was.state == WorkerState::lost) {
                EXPECT_EQ(restarted.at(each).node_was_lost, was.node_was_lost) << "step " << step;
            }
        }
    }
}

}  // namespace
}  // namespace pace::controller
