// A round's result that a node missed: what comes of the calls if the donor has nothing, is lost,
// or says what makes no sense; and what top-k owes afterwards.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "daemon/jobs/tests/missed_rounds_fixture.h"
#include "daemon/sparse/residual/chosen.h"

namespace pace::daemon {
namespace {

using base::ErrorKind;
using protocol::Outcome;
using protocol::Verb;

// ---------------------------------------------------------------------------------- honest donors

TEST_F(MissedRounds, AreGivenAndTheNodesGoOnTogether) {
    miss_a_round();
    commit_behind(kNextEpoch, true);
    expect_result();
    EXPECT_EQ(job_->rounds().completed(), 1U);
    go_on();
    EXPECT_EQ(left_over(), 0U);
}

// Nobody knows yet whether the others have the result with this call in it.
TEST_F(MissedRounds, AreNotCanceledBeforeAViewHasDecided) {
    miss_a_round();
    job_->cancel(worker_, ours_);
    EXPECT_FALSE(port_.ended(ours_));
    commit_behind(kNextEpoch, true);
    expect_result();
}

TEST_F(MissedRounds, AreGivenInTheViewAfterIfThisOneEndsFirst) {
    miss_a_round();
    commit_behind(kNextEpoch, false);
    EXPECT_TRUE(job_->is_exchanging());
    for (Job* job : {&*job_, &*other_job_})
        job->prepare({.job = 0, .epoch = kNextEpoch + 1, .token = kToken});
    ASSERT_TRUE(until([this] { return !job_->is_exchanging(); }));
    EXPECT_FALSE(port_.ended(ours_));
    expect_untouched();
    commit_behind(kNextEpoch + 1, true);
    expect_result();
    go_on();
}

TEST_F(MissedRounds, AreCountedWithoutTheResultIfTheWorkerIsGone) {
    miss_a_round();
    job_->remove(worker_);
    commit_behind(kNextEpoch, true);
    all_arrives();
    EXPECT_EQ(job_->rounds().completed(), 1U);
    EXPECT_FALSE(port_.ended(ours_)) << "its trainer is gone, too";
    for (Job* job : {&*job_, &*other_job_})
        job->prepare({.job = 0, .epoch = kNextEpoch + 1, .token = kToken});
    commit(kNextEpoch + 1);
    all_arrives();
    EXPECT_EQ(left_over(), 0U) << "a result that nobody takes";
}

// ------------------------------------------------------------------------------- donors in trouble

TEST_F(MissedRounds, WaitForAnotherViewIfTheDonorIsLost) {
    miss_a_round();
    expect_to_wait_without_the_donor();
}

// The donor was excluded meanwhile, and has dropped what it had.
TEST_F(MissedRounds, EndWithTheNameOfTheDonorIfItHasNothing) {
    miss_a_round();
    other_job_->invalidate(base::make_error(ErrorKind::aborted, "it was silent"));
    commit_behind(kNextEpoch, true);
    all_arrives();
    look_at_stalled();
    ASSERT_TRUE(port_.ended(ours_));
    EXPECT_EQ(outcome_of(ours_), Outcome::failed);
    const std::string& message = port_.endings.at(ours_).message;
    EXPECT_NE(message.find("other cannot give the result of round 0"), std::string::npos)
        << message;
    EXPECT_EQ(message.find("something else"), std::string::npos) << message;
    expect_untouched();
    EXPECT_EQ(job_->rounds().completed(), 1U) << "the others are there, too";
    go_on();
    all_arrives();
    EXPECT_EQ(left_over(), 0U);
}

TEST_F(MissedRounds, EndIfTheDonorGivesSomethingElse) {
    miss_a_round();
    commit_behind(kNextEpoch, false);
    give_raw(number(ExchangeKind::fetch), 0, std::vector<std::byte>(kMissed * sizeof(float)));
    ASSERT_TRUE(port_.ended(ours_));
    EXPECT_EQ(outcome_of(ours_), Outcome::failed);
    expect_untouched();
    EXPECT_EQ(job_->rounds().completed(), 1U);
}

// ------------------------------------------------------------------- what top-k hides in a result

class MissedTopK : public MissedRounds {
  protected:
    void SetUp() override { miss_a_round(by_top_k()); }
    static control::JobOptions by_top_k() {
        control::JobOptions options;
        options.compression = control::Compression::spardl;
        options.density = 0.05;
        options.teams = 1;
        options.dense_fallback = control::DenseFallback::never;
        return options;
    }
    // The check of the round that the worker has called for.
    uint32_t check_of_round() const {
        return static_cast<uint32_t>(
            mix(check_of(worker_->head()), static_cast<uint64_t>(sparse::Algorithm::spar_dl)));
    }
    void give_result(uint32_t check, float value) {
        const size_t bytes = layout_of({buffer_}).bytes();
        const std::vector<float> result(bytes / sizeof(float), value);
        give_raw(number(ExchangeKind::fetch), check, std::as_bytes(std::span(result)));
    }
    static uint64_t hidden_number(uint64_t part) {
        return part_number(number(ExchangeKind::hidden), part);
    }
    void give_head(uint64_t size, uint64_t chosen) {
        const std::array<uint64_t, 2> head{size, chosen};
        give_raw(hidden_number(0), 0, std::as_bytes(std::span(head)));
    }
    void expect_another_view_is_wanted() {
        EXPECT_TRUE(job_->state().wants_view);
        EXPECT_FALSE(port_.ended(ours_));
        EXPECT_EQ(job_->rounds().completed(), 0U);
        expect_untouched();
        EXPECT_FALSE(services_.active.any());
    }
};

TEST_F(MissedTopK, AListThatIsLargerThanAnyIsNotFetched) {
    const uint64_t paid = services_.accounts->bytes_used();
    const uint64_t most = sparse::hidden_bytes_max(kMissed);
    commit_behind(kNextEpoch, false);
    const std::string log = log_of([&] { give_head(most + 1, 1); });
    EXPECT_NE(log.find("what a node tells of a top-k result is too much"), std::string::npos)
        << log;
    EXPECT_NE(log.find("peer=other"), std::string::npos) << log;
    EXPECT_EQ(services_.accounts->bytes_used(), paid);
    expect_another_view_is_wanted();
}

TEST_F(MissedTopK, MoreElementsThanTheBuffersHaveWereNotChosen) {
    commit_behind(kNextEpoch, false);
    log_of([&] { give_head(0, kMissed + 1); });
    expect_another_view_is_wanted();
}

TEST_F(MissedTopK, AHeadOfAnotherSizeIsNone) {
    commit_behind(kNextEpoch, false);
    const std::array<uint64_t, 1> torn{};
    log_of([&] { give_raw(hidden_number(0), 0, std::as_bytes(std::span(torn))); });
    expect_another_view_is_wanted();
}

TEST_F(MissedTopK, ADonorThatHasNothingSaysSo) {
    commit_behind(kNextEpoch, false);
    const std::string log = log_of([&] {
        send_poison(other_services_, hidden_number(0), {kSelf});
        all_arrives();
    });
    EXPECT_NE(log.find("other cannot give the result of round 0"), std::string::npos) << log;
    expect_another_view_is_wanted();
}

TEST_F(MissedTopK, AListIsPaidForUntilTheNextRound) {
    const uint64_t paid = services_.accounts->bytes_used();
    constexpr uint64_t kSize = 64;
    commit_behind(kNextEpoch, false);
    give_head(kSize, 10);
    EXPECT_EQ(services_.accounts->bytes_used(), paid + kSize);
    EXPECT_FALSE(port_.ended(ours_));
    give_raw(hidden_number(1), 0, std::vector<std::byte>(kSize, std::byte{0xFF}));
    EXPECT_TRUE(job_->is_exchanging()) << "the result is fetched";
    EXPECT_EQ(services_.accounts->bytes_used(), paid + kSize);
}

// The residual is right without the list: this node's part of the exchange had ended.
TEST_F(MissedTopK, AListAndAResultEndTheCallWithTheNumberOfChosenElements) {
    commit_behind(kNextEpoch, false);
    const uint32_t check = check_of_round();
    give_head(8, 10);
    give_raw(hidden_number(1), 0, std::vector<std::byte>(8));
    give_result(check, 8);
    ASSERT_TRUE(port_.ended(ours_));
    EXPECT_EQ(outcome_of(ours_), Outcome::done) << port_.endings.at(ours_).message;
    EXPECT_EQ(floats(*buffer_).back(), 8);
    EXPECT_EQ(port_.endings.at(ours_).entries, 10U);
}

// The other node ends the round before this one has got all: what this node owes afterwards depends
// on what the donor says.
class MissedHalfOfATopK : public MissedTopK {
  protected:
    void SetUp() override {
        control::JobOptions options = by_top_k();
        options.policy = control::Policy::all_reduce;
        open(options);
        commit(1);
        loop_->remove_poller(transport_.get());
        ours_ = sum(buffer_);
        theirs_ = sum_there(other_buffer_);
        transport_->poll();
        listen();
        for (int i = 0; i < 10; ++i) loop_->turn(false);
        ASSERT_TRUE(other_port_.ended(theirs_));
        ASSERT_FALSE(port_.ended(ours_));
        for (Job* job : {&*job_, &*other_job_})
            job->prepare({.job = 0, .epoch = kNextEpoch, .token = kToken});
        loop_->add_poller(transport_.get());
        ASSERT_TRUE(until([this] { return !job_->rounds().is_exchanging(); }));
    }
    // What this node owes of its gradient.
    float owed() {
        const BufferPtr owed = buffer_of(kMissed, -1);
        const uint64_t id = call(Verb::residual_save, owed);
        EXPECT_TRUE(until([&] { return port_.ended(id); }));
        const auto all = floats(*owed);
        return std::accumulate(all.begin(), all.end(), 0.0F);
    }
};

TEST_F(MissedHalfOfATopK, WithAnHonestListLosesNothing) {
    commit_behind(kNextEpoch, true);
    ASSERT_TRUE(until([this] { return port_.ended(ours_); }));
    EXPECT_EQ(outcome_of(ours_), Outcome::done) << port_.endings.at(ours_).message;
    EXPECT_TRUE(std::ranges::equal(floats(*buffer_), floats(*other_buffer_)));
    const BufferPtr theirs = buffer_of(kMissed, -1);
    const uint64_t id = call_there(Verb::residual_save, theirs);
    ASSERT_TRUE(until([&] { return other_port_.ended(id); }));
    const auto result = floats(*buffer_);
    const auto rest = floats(*theirs);
    const float sent = std::accumulate(result.begin(), result.end(), 0.0F);
    const float kept = std::accumulate(rest.begin(), rest.end(), 0.0F);
    EXPECT_EQ(owed() + kept + sent, kMissed * (kGiven + kTheirGiven)) << "each is there once";
}

// The result itself is right, and the gradient is owed as if the round had not been.
TEST_F(MissedHalfOfATopK, WithAListThatDoesNotParseSaysThatWhatIsOwedMayBeWrong) {
    commit_behind(kNextEpoch, false);
    const uint32_t check = check_of_round();
    give_head(8, 10);
    give_raw(hidden_number(1), 0, std::vector<std::byte>(8, std::byte{0xFF}));
    const std::string log = log_of([&] { give_result(check, 8); });
    EXPECT_NE(log.find("what is owed may be wrong"), std::string::npos) << log;
    ASSERT_TRUE(port_.ended(ours_));
    EXPECT_EQ(outcome_of(ours_), Outcome::done) << port_.endings.at(ours_).message;
    EXPECT_EQ(floats(*buffer_).back(), 8);
    EXPECT_EQ(owed(), 0) << "nothing was owed before the round";
}

}  // namespace
}  // namespace pace::daemon
