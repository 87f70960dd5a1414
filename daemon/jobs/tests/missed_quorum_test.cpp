// A round that waits for a quorum, and that a node missed: what a donor tells of it, and where the
// worker's gradient counts afterwards.
#include <string>
#include <vector>

#include "daemon/families/rounds/told_round.h"
#include "daemon/jobs/tests/missed_rounds_fixture.h"

namespace pace::daemon {
namespace {

using base::ErrorKind;
using protocol::Outcome;

class MissedQuorum : public MissedRounds {
  protected:
    void SetUp() override {
        control::JobOptions options;
        options.quorum = control::Quorum::count;
        options.quorum_count = 2;
        options.divide_by = control::DivideBy::world;
        miss_a_round(options);
    }
    static partial::Roster roster() { return {{{kTheirs}, {kOurs}}}; }
    void give_told(const std::vector<std::byte>& bytes) {
        give_raw(number(ExchangeKind::fetch_told), kToldRoundCheck, bytes);
    }
    std::vector<std::byte> told(partial::Verdict verdict) {
        ToldRound round;
        round.outcome.verdict = verdict;
        round.terms = partial::Terms{layout_of({buffer_}), false};
        return write(round, roster());
    }
    // This node's call is in this round, with what the other node gives.
    void expect_in_round(uint64_t round, float result) {
        const BufferPtr theirs = buffer_of(kMissed, 20);
        const uint64_t other = sum_there(theirs);
        ASSERT_TRUE(until([&] { return port_.ended(ours_) && other_port_.ended(other); }));
        EXPECT_EQ(outcome_of(ours_), Outcome::done) << port_.endings.at(ours_).message;
        EXPECT_EQ(port_.endings.at(ours_).group, round);
        EXPECT_EQ(floats(*buffer_).back(), result);
        EXPECT_EQ(floats(*theirs).back(), result);
    }
};

TEST_F(MissedQuorum, AreGivenWithWhatTheyWereASumOf) {
    commit_behind(kNextEpoch, true);
    expect_result();
    EXPECT_EQ(port_.endings.at(ours_).contributors, 2U);
    EXPECT_FALSE(port_.endings.at(ours_).late);
    go_on();
    all_arrives();
    EXPECT_EQ(left_over(), 0U);
}

TEST_F(MissedQuorum, ThatHadNothingLeaveTheCallToTheNextRound) {
    commit_behind(kNextEpoch, false);
    give_told(told(partial::Verdict::nothing));
    EXPECT_FALSE(port_.ended(ours_));
    EXPECT_EQ(job_->rounds().completed(), 1U);
    control::CommitView view;
    view.epoch = kNextEpoch;
    view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}};
    view.base_round = 1;
    other_job_->commit(view);
    expect_in_round(1, kGiven + 20);
}

// The other node's daemon has died with the result, and has come back.
TEST_F(MissedQuorum, ThatAreRedoneHaveWhatTheCallGave) {
    other_job_.emplace(other_services_, job_->state().options, 0);
    other_job_->state().token = kToken;
    other_job_->add(other_worker_);
    commit(kNextEpoch);
    EXPECT_FALSE(port_.ended(ours_));
    expect_in_round(0, kGiven + 20);
}

TEST_F(MissedQuorum, OfUnlikeCallsEndTheCallAsTheyEndedTheOthers) {
    commit_behind(kNextEpoch, false);
    give_told(told(partial::Verdict::disagree));
    ASSERT_TRUE(port_.ended(ours_));
    EXPECT_EQ(outcome_of(ours_), Outcome::failed);
    EXPECT_EQ(port_.endings.at(ours_).kind, ErrorKind::mismatch);
    expect_untouched();
    EXPECT_EQ(job_->rounds().completed(), 1U);
}

// The gradient may be in the others' sum, so it does not count again.
TEST_F(MissedQuorum, ThatAreToldOfInTornBytesAreLostAndTheJobGoesOn) {
    commit_behind(kNextEpoch, false);
    std::vector<std::byte> torn = told(partial::Verdict::sum);
    torn[0] = std::byte{9};
    const std::string log = log_of([&] { give_told(torn); });
    EXPECT_NE(log.find("a round is lost here"), std::string::npos) << log;
    EXPECT_FALSE(job_->state().wants_view);
    EXPECT_EQ(job_->rounds().completed(), 1U);
}

TEST_F(MissedQuorum, OfAnotherSizeThanTheRosterSaysAreLost) {
    commit_behind(kNextEpoch, false);
    std::vector<std::byte> torn = told(partial::Verdict::sum);
    torn.resize(torn.size() - collectives::kCutBytes);
    const std::string log = log_of([&] { give_told(torn); });
    EXPECT_NE(log.find("a round is lost here"), std::string::npos) << log;
    EXPECT_EQ(job_->rounds().completed(), 1U);
}

// Where nobody here has called, the donor says how large the sum is.
TEST_F(MissedQuorum, WithASumOfOtherBuffersAreLost) {
    commit_behind(kNextEpoch, false);
    ToldRound round;
    round.outcome = {partial::Verdict::sum, {{kTheirs, 0}}, 1, {}};
    round.terms = partial::Terms{layout_of({buffer_of(kMissed + 1, 0)}), false};
    give_told(write(round, roster()));
    EXPECT_TRUE(job_->is_exchanging()) << "the sum is fetched";
    const std::vector<std::byte> sum(round.terms->layout.bytes());
    const std::string log = log_of(
        [&] { give_raw(number(ExchangeKind::fetch), partial::digest_of(*round.terms), sum); });
    EXPECT_NE(log.find("a round is lost here"), std::string::npos) << log;
    expect_untouched();
    EXPECT_EQ(job_->rounds().completed(), 1U);
}

TEST_F(MissedQuorum, WithASumThatIsLargerThanAnyOfTheirUserAreLostAndTakeNoMemory) {
    services_.accounts = Accounts::create({.user_bytes_max = uint64_t{1} << 30U});
    commit_behind(kNextEpoch, false);
    ToldRound round;
    round.outcome = {partial::Verdict::sum, {{kTheirs, 0}}, 1, {}};
    round.terms =
        partial::Terms{collectives::Layout({{protocol::DType::f32, uint64_t{1} << 29U}}), false};
    const std::string log = log_of([&] { give_told(write(round, roster())); });
    EXPECT_NE(log.find("a round is lost here"), std::string::npos) << log;
    EXPECT_LT(services_.accounts->bytes_used(), uint64_t{1} << 20U);
    expect_untouched();
    EXPECT_EQ(job_->rounds().completed(), 1U);
}

TEST_F(MissedQuorum, OfWhichTheDonorKnowsNothingAreLost) {
    other_job_->invalidate(base::make_error(ErrorKind::aborted, "it was silent"));
    commit_behind(kNextEpoch, true);
    all_arrives();
    const std::string log = log_of([&] { look_at_stalled(); });
    EXPECT_NE(log.find("a round is lost here"), std::string::npos) << log;
    EXPECT_EQ(job_->rounds().completed(), 1U);
}

TEST_F(MissedQuorum, WaitForAnotherViewIfTheDonorIsLost) {
    expect_to_wait_without_the_donor();
}

}  // namespace
}  // namespace pace::daemon
