#include "service/controller/core/members/attendance.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using std::chrono::milliseconds;

constexpr NodeId kNode = 7;

class AttendanceTest : public testing::Test {
  protected:
    AttendanceTest() {
        options_.world = 3;
        limits_.liveness_max = milliseconds(2000);
        limits_.abandoned_keep = milliseconds(60'000);
        limits_.unjoined_keep = milliseconds(90'000);
    }

    Turn turn() { return {now_, actions_}; }
    void join(Rank rank, WorkerState state = WorkerState::joined) {
        roster_.make_room();
        roster_.enter(rank, kNode, state, turn());
        attendance_.on_joined(now_);
    }
    void go(Rank rank, Departure how) {
        roster_.go(rank, how, turn());
        attendance_.on_gone(now_);
    }
    void begin() {
        roster_.start();
        views_.raise_epoch_to(1);
    }
    bool starts() {
        attendance_.look_for_start(now_);
        return attendance_.start_is_due(now_);
    }
    void pass(Duration time) { now_ += time; }
    // A job whose three workers are members, after a restart of the controller.
    void restart_with_members() {
        views_.raise_epoch_to(5);
        for (Rank rank = 0; rank < 3; ++rank)
            roster_.replay({1, rank, kNode, Placement::member}, true);
        roster_.replay_finished();
        attendance_.replay_finished(now_);
    }

    JobOptions options_;
    CoreOptions limits_;
    Membership nodes_{limits_, [] { return uint64_t{1}; }};
    Actions actions_;
    TimePoint now_{std::chrono::seconds(100)};
    Roster roster_{1, 3, nodes_};
    Views views_{1, 2, false};
    Attendance attendance_{options_, limits_, roster_, views_};
};

From<WorkerJoin> coming_back(Rank rank, NodeId node, uint64_t epoch) {
    From<WorkerJoin> event{};
    event.node = node;
    event.rank = rank;
    event.resume = true;
    event.epoch = epoch;
    return event;
}

TEST_F(AttendanceTest, AJobBeginsWhenAllHaveJoinedOnce) {
    join(0);
    join(1);
    EXPECT_FALSE(starts());
    go(0, Departure::left);
    join(2);
    EXPECT_TRUE(starts()) << "rank 0 has been there";
    begin();
    EXPECT_FALSE(starts()) << "once";
}

TEST_F(AttendanceTest, EnoughWorkersBeginWhenTheyHaveWaitedForTheOthers) {
    options_.min_workers = 2;
    options_.min_workers_wait_ms = 500;
    join(0);
    EXPECT_FALSE(starts());
    join(1);
    EXPECT_FALSE(starts());
    EXPECT_EQ(attendance_.next_deadline(), now_ + milliseconds(500));
    pass(milliseconds(499));
    EXPECT_FALSE(starts());
    go(0, Departure::left);
    EXPECT_FALSE(starts());
    join(0);
    EXPECT_FALSE(starts()) << "they have not waited together";
    pass(milliseconds(500));
    EXPECT_TRUE(starts());
}

TEST_F(AttendanceTest, NobodyAloneBegins) {
    for (Rank rank = 0; rank < 3; ++rank) join(rank);
    for (Rank rank = 0; rank < 3; ++rank) go(rank, Departure::died);
    EXPECT_FALSE(starts());
}

TEST_F(AttendanceTest, AfterARestartTheMembersAreAwaited) {
    restart_with_members();
    EXPECT_TRUE(attendance_.is_gathering());
    EXPECT_TRUE(attendance_.holds_up());
    EXPECT_TRUE(attendance_.awaits_return(now_));
    EXPECT_FALSE(attendance_.ends_gathering(now_));
    for (Rank rank = 0; rank < 3; ++rank) {
        EXPECT_TRUE(attendance_.is_member_back(coming_back(rank, kNode, 5)));
        join(rank, WorkerState::member);
    }
    EXPECT_TRUE(attendance_.ends_gathering(now_));
    EXPECT_FALSE(attendance_.is_gathering());
    EXPECT_FALSE(attendance_.ends_gathering(now_)) << "once";
}

TEST_F(AttendanceTest, TheTimeForGatheringBeginsAnewWithTheFirstThatReturns) {
    restart_with_members();
    pass(limits_.liveness_max);
    EXPECT_FALSE(attendance_.ends_gathering(now_)) << "nobody is there to go on";
    pass(limits_.liveness_max);
    join(0, WorkerState::member);
    EXPECT_FALSE(attendance_.ends_gathering(now_));
    EXPECT_EQ(attendance_.next_deadline(), now_ + limits_.liveness_max);
    pass(limits_.liveness_max);
    EXPECT_TRUE(attendance_.ends_gathering(now_));
}

TEST_F(AttendanceTest, AMemberIsBackAtItsNodeOrFromAViewThatTheJournalLacks) {
    restart_with_members();
    EXPECT_FALSE(attendance_.is_member_back(coming_back(0, kNode + 1, 5)));
    EXPECT_FALSE(attendance_.is_member_back(coming_back(0, kNode, 0))) << "it was in no view";
    From<WorkerJoin> another = coming_back(0, kNode, 5);
    another.resume = false;
    EXPECT_FALSE(attendance_.is_member_back(another)) << "another process";
    roster_.replay({1, 1, kNode, Placement::lost}, true);
    EXPECT_FALSE(attendance_.is_member_back(coming_back(1, kNode, 5))) << "the journal knows of it";
    EXPECT_TRUE(attendance_.is_member_back(coming_back(1, kNode, 6)));
}

TEST_F(AttendanceTest, AJobThatLostAllItsMembersWaitsForTheOthersOfThoseThatReturn) {
    for (Rank rank = 0; rank < 3; ++rank) join(rank);
    begin();
    for (Rank rank = 0; rank < 3; ++rank) go(rank, Departure::with_node);
    attendance_.on_lost(now_);
    EXPECT_FALSE(attendance_.waits_for_return(now_)) << "nobody is there who could go on";
    join(0, WorkerState::newcomer);
    EXPECT_TRUE(attendance_.waits_for_return(now_));
    EXPECT_TRUE(attendance_.holds_up());
    EXPECT_EQ(attendance_.next_deadline(), now_ + limits_.liveness_max);
    pass(limits_.liveness_max);
    EXPECT_FALSE(attendance_.waits_for_return(now_));
    EXPECT_FALSE(attendance_.holds_up());
    EXPECT_FALSE(roster_.at(1).may_return) << "nobody waits for it any longer";
}

TEST_F(AttendanceTest, WhoIsLeftWithoutAMemberWaitsForTheLostOnes) {
    for (Rank rank = 0; rank < 2; ++rank) join(rank);
    begin();
    join(2, WorkerState::newcomer);
    go(0, Departure::with_node);
    attendance_.on_lost(now_);
    EXPECT_FALSE(attendance_.waits_for_return(now_)) << "rank 1 has the model";
    go(1, Departure::with_node);
    attendance_.on_lost(now_);
    EXPECT_TRUE(attendance_.waits_for_return(now_));
}

TEST_F(AttendanceTest, AJobThatNobodyJoinsEnds) {
    attendance_.begin_unjoined(now_);
    EXPECT_FALSE(attendance_.was_joined());
    EXPECT_EQ(attendance_.next_deadline(), now_ + limits_.unjoined_keep);
    EXPECT_FALSE(attendance_.has_ended(now_ + limits_.unjoined_keep - milliseconds(1)));
    EXPECT_TRUE(attendance_.has_ended(now_ + limits_.unjoined_keep));
    join(0);
    EXPECT_TRUE(attendance_.was_joined());
    EXPECT_FALSE(attendance_.has_ended(now_ + limits_.unjoined_keep));
}

TEST_F(AttendanceTest, AJobEndsWhenAllHaveLeftAndIsKeptIfOneWasLost) {
    join(0);
    join(1);
    go(0, Departure::left);
    EXPECT_FALSE(attendance_.has_ended(now_));
    go(1, Departure::left);
    EXPECT_TRUE(attendance_.has_ended(now_));
    join(1);
    go(1, Departure::died);
    EXPECT_FALSE(attendance_.has_ended(now_));
    EXPECT_TRUE(attendance_.has_ended(now_ + limits_.abandoned_keep));
}

TEST_F(AttendanceTest, NobodyHasDiedAsLongAsOneMayLiveWithoutADaemon) {
    join(0);
    join(1);
    begin();
    go(0, Departure::died);
    EXPECT_FALSE(attendance_.is_deserted(now_)) << "rank 1 is there";
    go(1, Departure::with_node);
    EXPECT_TRUE(attendance_.is_deserted(now_));
    EXPECT_FALSE(attendance_.have_all_died(now_));
    EXPECT_EQ(attendance_.finished_since(now_), now_);
    EXPECT_TRUE(attendance_.have_all_died(now_ + 5 * limits_.liveness_max));
}

TEST_F(AttendanceTest, WhoJoinsARunWithoutWorkersContinuesAloneUntilSomebodyTakesPart) {
    join(0);
    begin();
    EXPECT_FALSE(attendance_.continues_alone(true, now_));
    go(0, Departure::died);
    EXPECT_TRUE(attendance_.continues_alone(true, now_));
    join(1, WorkerState::newcomer);
    EXPECT_TRUE(attendance_.continues_alone(true, now_)) << "nobody takes part yet";
    attendance_.on_admitted();
    EXPECT_FALSE(attendance_.continues_alone(true, now_));
}

}  // namespace
}  // namespace pace::controller
