// Static groups: they follow from the view, and the controller is told of them afterwards.
#include <map>
#include <string>

#include "daemon/jobs/tests/groups/groups_fixture.h"
#include "protocol/static_groups.h"

namespace pace::daemon {
namespace {

using base::ErrorKind;
using control::Policy;
using protocol::Outcome;
using protocol::Verb;
using std::chrono::milliseconds;
using std::chrono::seconds;

// In turn, workers 0 and 1 meet, then 1 and 2, then 0 and 2, then 1 and 2. The third is alone.
class StaticGroupsOfAJob : public GroupsFixture {
  protected:
    StaticGroupsOfAJob() { begin(Policy::prague_static); }

    std::vector<control::GroupReport> reports() {
        control::Heartbeat heartbeat;
        job_->report(heartbeat);
        return heartbeat.groups;
    }
    void prepare_all(uint64_t epoch) {
        for (Job* job : {&*job_, &*other_job_})
            job->prepare({.job = kJob, .epoch = epoch, .token = kToken});
        settle();
    }
    // The worker's turns so far are over.
    void skip_turns(uint64_t turns) {
        for (const WorkerPtr& worker : {worker_, second_, other_worker_}) worker->turn = turns;
    }
    // The worker here waits in an exchange for the one there.
    void begin_here() {
        our_call_ = average(worker_, buffer_, 4);
        ASSERT_EQ(worker_->state, Worker::State::moving);
    }

    uint64_t our_call_ = 0;
};

TEST_F(StaticGroupsOfAJob, AverageByTheirSchedule) {
    listen();
    const protocol::StaticGroups schedule({{kTheirs}, {kOurs, kSecond}});
    const std::map<control::Rank, std::pair<WorkerPtr, BufferPtr>> all{
        {kTheirs, {other_worker_, other_buffer_}},
        {kOurs, {worker_, buffer_}},
        {kSecond, {second_, second_buffer_}}};
    std::map<control::Rank, float> expected{{kTheirs, 16}, {kOurs, 32}, {kSecond, 64}};
    for (const auto& [rank, member] : all)
        std::ranges::fill(floats(*member.second), expected.at(rank));
    for (uint64_t turn = 0; turn < 2 * protocol::StaticGroups::kPhases; ++turn) {
        std::map<control::Rank, float> next;
        for (const auto& [rank, value] : expected) {
            const std::vector<control::Rank> group = schedule.group_of(rank, turn);
            for (const control::Rank member : group)
                next[rank] += expected.at(member) / static_cast<float>(group.size());
        }
        expected = next;
        std::vector<uint64_t> calls;
        for (const auto& [rank, member] : all)
            calls.push_back(average(member.first, member.second, turn + 1));
        for (const uint64_t id : calls) EXPECT_TRUE(is_done(id)) << "turn " << turn;
        for (const auto& [rank, member] : all)
            EXPECT_TRUE(holds(member.second, expected.at(rank)))
                << "worker " << rank << " in turn " << turn << " has "
                << floats(*member.second).front();
    }
}

TEST_F(StaticGroupsOfAJob, DoNotAskTheController) {
    listen();
    begin_here();
    average(other_worker_, other_buffer_);
    ASSERT_TRUE(is_done(our_call_));
    job_->announce(worker_, 5);
    EXPECT_TRUE(ours.take<control::Ready>().empty());
    EXPECT_TRUE(ours.take<control::GroupDone>().empty());
}

TEST_F(StaticGroupsOfAJob, WaitForAllMembersHere) {
    skip_turns(1);
    const uint64_t first = average(worker_, buffer_);
    pass(seconds(60));
    EXPECT_FALSE(has_ended(first));
    const uint64_t second = average(second_, second_buffer_);
    EXPECT_TRUE(is_done(first) && is_done(second));
    EXPECT_TRUE(holds(buffer_, 4) && holds(second_buffer_, 4));
}

// The member is one turn behind.
TEST_F(StaticGroupsOfAJob, WaitForAMembersTurn) {
    second_->turn = 1;
    const uint64_t ahead = average(second_, second_buffer_);
    average(worker_, buffer_);
    EXPECT_FALSE(has_ended(ahead)) << "the other worker is in a group with the other node";
    EXPECT_EQ(wait_of(second_), "another average of a member of its group to end");
}

TEST_F(StaticGroupsOfAJob, TellEachOtherTheirIterations) {
    listen();
    begin_here();
    const uint64_t their_call = average(other_worker_, other_buffer_, 9);
    for (const uint64_t id : {our_call_, their_call}) {
        ASSERT_TRUE(is_done(id));
        EXPECT_EQ(ending(id).iteration, 9U);
        const MemberList& members = *ending(id).members;
        ASSERT_EQ(members.size(), 2U);
        EXPECT_EQ(members[0].staleness, 0U);
        EXPECT_EQ(members[1].staleness, 5U);
        EXPECT_EQ(members[1].weight, 0.5);
    }
}

// --------------------------------------------------------------------------------------------
// reports

TEST_F(StaticGroupsOfAJob, AreReportedOnce) {
    listen();
    begin_here();
    pass(milliseconds(30));
    average(other_worker_, other_buffer_);
    pass(milliseconds(200));
    const auto told = reports();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].job, kJob);
    EXPECT_EQ(told[0].group, ending(our_call_).group);
    EXPECT_EQ(told[0].members, (std::vector<control::Rank>{kTheirs, kOurs}));
    EXPECT_EQ(told[0].iteration, 4U);
    EXPECT_EQ(told[0].moving_ns, 30'000'000U);
    EXPECT_EQ(told[0].waited_ns, std::vector<uint64_t>{0});
    EXPECT_EQ(told[0].bytes, ending(our_call_).bytes_sent);
    EXPECT_EQ(told[0].ended_before_ns, 200'000'000U);
    EXPECT_TRUE(reports().empty());
}

TEST_F(StaticGroupsOfAJob, ReportHowLongEachMemberHereHasWaited) {
    skip_turns(1);
    average(second_, second_buffer_);
    pass(milliseconds(70));
    average(worker_, buffer_);
    const auto told = reports();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].waited_ns, (std::vector<uint64_t>{0, 70'000'000}));
}

// A controller that has not accepted the workers again would not believe the report.
TEST_F(StaticGroupsOfAJob, AreReportedWhenTheWorkersAreAcceptedAgain) {
    skip_turns(1);
    average(worker_, buffer_);
    average(second_, second_buffer_);
    second_->resuming = true;
    EXPECT_TRUE(reports().empty());
    job_->resumed(second_, false);
    EXPECT_EQ(reports().size(), 1U);
}

TEST_F(StaticGroupsOfAJob, ThatFailAreNotReported) {
    begin_here();
    lose_the_other_node();
    settle();
    EXPECT_TRUE(reports().empty());
}

// ----------------------------------------------------------------------------------------------
// views

TEST_F(StaticGroupsOfAJob, BeginWithTheFirstView) {
    job_.emplace(services_, in_pairs(Policy::prague_static), 0);
    job_->state().token = kToken;
    job_->add(worker_);
    job_->add(second_);
    worker_->turn = 3;  // of an earlier view
    our_call_ = average(worker_, buffer_);
    EXPECT_EQ(worker_->state, Worker::State::ready);
    job_->commit(view_of_all(1));
    EXPECT_EQ(worker_->state, Worker::State::moving) << "with the other node's worker";
}

TEST_F(StaticGroupsOfAJob, OfAnOldViewMeetAnewInTheNext) {
    begin_here();
    prepare_all(2);
    EXPECT_FALSE(job_->is_exchanging());
    EXPECT_FALSE(has_ended(our_call_));
    EXPECT_TRUE(holds(buffer_, 3));
    EXPECT_EQ(wait_of(worker_), "the job's membership to have changed");
    listen();
    commit_all(2);
    const uint64_t their_call = average(other_worker_, other_buffer_);
    EXPECT_TRUE(is_done(our_call_) && is_done(their_call));
    EXPECT_TRUE(holds(buffer_, 6.5F));
}

// The nodes have had different numbers of turns.
TEST_F(StaticGroupsOfAJob, OfAllMembersBeginAnewWithEachView) {
    skip_turns(1);
    average(worker_, buffer_, 1);
    average(second_, second_buffer_, 1);
    prepare_all(2);
    commit_all(2);
    listen();
    our_call_ = average(worker_, buffer_, 2);
    const uint64_t their_call = average(other_worker_, other_buffer_, 2);
    EXPECT_TRUE(is_done(our_call_) && is_done(their_call));
    EXPECT_TRUE(holds(buffer_, 7)) << "the mean of 4 and 10";
}

TEST_F(StaticGroupsOfAJob, AskForAnotherViewIfANodeIsLost) {
    begin_here();
    lose_the_other_node();
    settle();
    EXPECT_FALSE(has_ended(our_call_));
    EXPECT_TRUE(holds(buffer_, 3));
    EXPECT_TRUE(job_->state().wants_view);
    pass(seconds(10));
    EXPECT_FALSE(job_->is_exchanging()) << "it would fail again";
    control::CommitView alone = view_of_all(2);
    alone.members.erase(alone.members.begin());
    job_->commit(alone);
    settle();
    EXPECT_TRUE(is_done(our_call_)) << "it is the node's first worker, and the node is alone";
    EXPECT_FALSE(job_->state().wants_view);
}

// The next view has begun, and has the members already.
TEST_F(StaticGroupsOfAJob, OfAnOldViewThatFailLateAskForNoOther) {
    begin_here();
    commit_all(2);
    ASSERT_EQ(worker_->state, Worker::State::moving) << "in the old view";
    services_.active.each([](const auto& exchange) {
        exchange->abort(base::make_error(ErrorKind::timeout, "it does not move"));
    });
    settle();
    EXPECT_FALSE(job_->state().wants_view);
    listen();
    const uint64_t their_call = average(other_worker_, other_buffer_);
    EXPECT_TRUE(is_done(our_call_) && is_done(their_call));
}

TEST_F(StaticGroupsOfAJob, AreNotOfTheAttachmentAndGoOnWithAnother) {
    begin_here();
    job_->attached_anew();
    pass(seconds(1));
    EXPECT_TRUE(job_->is_exchanging());
    listen();
    average(other_worker_, other_buffer_);
    EXPECT_TRUE(is_done(our_call_));
}

// ------------------------------------------------------------------------------- members that
// differ

TEST_F(StaticGroupsOfAJob, OfOtherBuffersNameTheOtherCallAndGoOn) {
    listen();
    begin_here();
    const uint64_t their_call = average(other_worker_, buffer_of(kElements + 1, 10));
    pass(milliseconds(150));
    look_at_stalls();
    for (const uint64_t id : {our_call_, their_call}) {
        ASSERT_TRUE(has_ended(id));
        EXPECT_EQ(ending(id).kind, ErrorKind::mismatch);
    }
    EXPECT_NE(ending(our_call_).message.find("worker 1 called average of 1 buffer (f32 x 100) and "
                                             "worker 0 on node other something else"),
              std::string::npos)
        << ending(our_call_).message;
    EXPECT_TRUE(holds(buffer_, 3));
    EXPECT_FALSE(job_->state().wants_view);
    skip_turns(1);
    average(worker_, buffer_, 5);
    const uint64_t next = average(second_, second_buffer_, 5);
    EXPECT_TRUE(is_done(next));
}

// -------------------------------------------------------------------------------- members that
// leave

TEST_F(StaticGroupsOfAJob, ThatAreNotCompleteLetACallGo) {
    skip_turns(1);
    const uint64_t canceled = average(worker_, buffer_, 1);
    job_->cancel(worker_, canceled);
    EXPECT_EQ(ending(canceled).outcome, Outcome::canceled);
    EXPECT_TRUE(ours.take<control::Withdraw>().empty());
    const uint64_t again = average(worker_, buffer_, 2);
    const uint64_t second = average(second_, second_buffer_, 2);
    EXPECT_TRUE(is_done(again) && is_done(second)) << "the canceled call was no turn";
}

TEST_F(StaticGroupsOfAJob, LeaveNothingOfWhatOthersSendToAWorkerThatIsGone) {
    listen();
    average(other_worker_, other_buffer_);
    EXPECT_GT(unexpected(), 0U);
    job_->remove(worker_);
    EXPECT_EQ(unexpected(), 0U);
}

// The other worker of its node may be two turns ahead of it.
TEST_F(StaticGroupsOfAJob, LeaveNothingOfWhatOthersSendForLaterTurns) {
    listen();
    other_worker_->turn = 2;
    average(other_worker_, other_buffer_);
    EXPECT_GT(unexpected(), 0U);
    job_->remove(second_);
    EXPECT_EQ(unexpected(), 0U);
}

// The controller has lost its journal, and gives the job another token.
TEST_F(StaticGroupsOfAJob, LeaveNothingOfAnOldViewIfTheJobsTokenChanges) {
    listen();
    average(other_worker_, other_buffer_);
    EXPECT_GT(unexpected(), 0U);
    job_->prepare({.job = kJob, .epoch = 2, .token = kToken + 1});
    settle();
    EXPECT_EQ(unexpected(), 0U);
}

// The other node has not heard of the new token.
TEST_F(StaticGroupsOfAJob, OfAViewGoOnIfTheJobsTokenChangesHereFirst) {
    job_->state().token = kToken + 1;
    listen();
    our_call_ = average(worker_, buffer_);
    average(other_worker_, other_buffer_);
    EXPECT_TRUE(is_done(our_call_));
}

TEST_F(StaticGroupsOfAJob, DoNotBeginWithANewcomer) {
    skip_turns(1);
    second_->newcomer = true;
    const uint64_t first = average(worker_, buffer_);
    const uint64_t newcomers = average(second_, second_buffer_);
    EXPECT_FALSE(has_ended(first) || has_ended(newcomers));
    EXPECT_EQ(ours.take<control::WorkerAdmit>(),
              (std::vector{control::WorkerAdmit{.job = kJob, .rank = kSecond}}));
}

TEST_F(StaticGroupsOfAJob, ThatFailAskForTheirPlaceAgainIfTheyWereTakenOut) {
    begin_here();
    job_->suspend(kOurs, "cut off");
    lose_the_other_node();
    settle();
    EXPECT_EQ(ours.take<control::WorkerAdmit>(),
              (std::vector{control::WorkerAdmit{.job = kJob, .rank = kOurs}}));
    EXPECT_FALSE(has_ended(our_call_));
}

// ------------------------------------------------------------------- buffers that are made
// meanwhile

TEST_F(StaticGroupsOfAJob, WaitForBuffersThatAreMadeStill) {
    skip_turns(1);
    Request unmade = average_of(buffer_, 1);
    unmade.order = protocol::Order::forward;
    unmade.digest = digest_of(unmade.buffers, unmade.order);
    unmade.ready = 0;
    Request made = average_of(second_buffer_, 1);
    made.order = unmade.order;
    made.digest = unmade.digest;
    const uint64_t first = submit(worker_, std::move(unmade));
    const uint64_t second = submit(second_, std::move(made));
    EXPECT_FALSE(job_->is_exchanging());
    EXPECT_EQ(wait_of(worker_), "its own buffers to be made ready (pace_request_ready)");
    job_->ready(worker_, first, kElements);
    settle();
    EXPECT_TRUE(is_done(first) && is_done(second));
    EXPECT_TRUE(holds(buffer_, 4));
}

}  // namespace
}  // namespace pace::daemon
