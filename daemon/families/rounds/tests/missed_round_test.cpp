// What a node learns about a round that it has missed, and what it does with what makes no sense.
#include "daemon/families/rounds/missed_round.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/families/rounds/tests/two_nodes_fixture.h"
#include "daemon/families/rounds/told_round.h"

namespace pace::daemon {
namespace {

using partial::RoundOutcome;
using partial::Verdict;

// Remembers what the round has turned out to be.
class HeardPort final : public MissedRound::Port, public PartialRounds::Port {
  public:
    void try_start() override { heard_ += "try_start "; }
    void go_on() override { heard_ += "go_on "; }
    void wait_for_view() override { heard_ += "wait_for_view "; }
    void fetch_result(NodeId donor) override { heard_ += fmt::format("fetch_result({}) ", donor); }
    void result_is_lost() override { heard_ += "result_is_lost "; }
    void deliver(const RoundOutcome& outcome, Scratch sum) override {
        heard_ += fmt::format("deliver({}) ", outcome.contributors.size());
        sum_ = std::move(sum);
    }
    void skip(const RoundOutcome& outcome) override {
        heard_ += fmt::format("skip({}) ", static_cast<int>(outcome.verdict));
    }
    void ended(const base::Result<RoundOutcome>& /*outcome*/) override { heard_ += "ended "; }

    std::string heard_;
    Scratch sum_;
};

class MissedRoundTest : public TwoNodesOfAJob {
  protected:
    static constexpr size_t kCount = 1024;

    using TwoNodesOfAJob::TwoNodesOfAJob;

    void fetch() { missed_.fetch(kThere, layout_of(kCount)); }
    bool until_heard(const std::string& all) {
        EXPECT_TRUE(until([&] { return port_.heard_.size() >= all.size(); }));
        all_arrives();
        EXPECT_EQ(port_.heard_, all);
        return port_.heard_ == all;
    }
    std::unique_ptr<PartialRounds> make_partial() {
        if (!protocol::is_partial(options_)) return nullptr;
        return std::make_unique<PartialRounds>(here_.job, here_.result, port_);
    }

    HeardPort port_;
    std::unique_ptr<PartialRounds> partial_ = make_partial();
    MissedRound missed_{here_.job, here_.sequence, here_.result, partial_.get(), port_};
};

TEST_F(MissedRoundTest, OfAllMembersIsFetchedAtOnce) {
    fetch();
    EXPECT_EQ(port_.heard_, "fetch_result(2) ");
    EXPECT_EQ(missed_.exchange(), nullptr);
}

// ------------------------------------------------------------------------------------------- top-k

class MissedTopKTest : public MissedRoundTest {
  protected:
    MissedTopKTest() : MissedRoundTest(top_k()) {}

    void give_head(uint64_t size, uint64_t chosen) {
        const std::array<uint64_t, 2> head{size, chosen};
        EXPECT_TRUE(Giving::give_copy(*there_.own_services, there_.result.about(kHere),
                                      hidden_number(there_.job, kHere, 0), 0,
                                      std::as_bytes(std::span(head))));
    }
    std::string log_of_refusal(uint64_t size, uint64_t chosen) {
        testing::internal::CaptureStderr();
        fetch();
        give_head(size, chosen);
        EXPECT_TRUE(until_heard("result_is_lost "));
        EXPECT_TRUE(here_.sequence.waits());
        return testing::internal::GetCapturedStderr();
    }
};

TEST_F(MissedTopKTest, IsFetchedWhenItIsKnownWhatItHides) {
    const auto hidden = std::make_shared<const std::vector<std::byte>>(40, std::byte{7});
    there_.result.hide(123, *hidden, hidden);
    end_round(there_, {1, 2});
    fetch();
    EXPECT_TRUE(here_.sequence.waits())
        << "no round begins, and no newcomer gets a model, meanwhile";
    there_.result.serve(kHere);
    ASSERT_TRUE(until_heard("fetch_result(2) "));
    EXPECT_FALSE(here_.sequence.waits());
    EXPECT_EQ(here_.result.chosen(), 123U);
    EXPECT_TRUE(std::ranges::equal(here_.result.hidden(), *hidden));
}

TEST_F(MissedTopKTest, IsFetchedAtOnceIfItHidesNothing) {
    fetch();
    give_head(0, 5);
    ASSERT_TRUE(until_heard("fetch_result(2) "));
    EXPECT_EQ(here_.result.chosen(), 5U);
    EXPECT_TRUE(here_.result.hidden().empty());
}

TEST_F(MissedTopKTest, IsLostIfItHidesMoreThanThereIs) {
    const std::string log = log_of_refusal(uint64_t{1} << 40U, 5);
    EXPECT_NE(log.find("there"), std::string::npos) << log;
}

TEST_F(MissedTopKTest, IsLostIfMoreWasChosenThanThereIs) {
    log_of_refusal(0, kCount + 1);
}

TEST_F(MissedTopKTest, IsNoMatterAnyMoreWhenAnotherViewIsPrepared) {
    fetch();
    ASSERT_TRUE(here_.sequence.prepare(2));
    missed_.stop(base::make_error(base::ErrorKind::aborted, "another view"));
    all_arrives();
    EXPECT_EQ(port_.heard_, "");
}

// ---------------------------------------------------------------------------------- partial rounds

class MissedPartialTest : public MissedRoundTest {
  protected:
    MissedPartialTest() : MissedRoundTest(quorum()) {}

    void give(const RoundOutcome& outcome, const std::vector<float>& sum = {}) {
        const partial::Terms terms{layout_of(kCount), false};
        there_.result.tell(write({outcome, terms}, there_.sequence.round_view().roster()));
        there_.result.keep(sum.size() * sizeof(float), partial::digest_of(terms));
        there_.result.put_back(memory_of(sum));
        (void)there_.sequence.end();
        there_.result.serve(kHere);
    }
};

TEST_F(MissedPartialTest, IsDeliveredIfItIsASum) {
    fetch();
    EXPECT_NE(missed_.exchange(), nullptr);
    give({Verdict::sum, {{0, 0}, {1, 2}}, 2, {}}, std::vector<float>(kCount, 4));
    ASSERT_TRUE(until_heard("deliver(2) "));
    EXPECT_EQ(floats_in(port_.sum_, kCount), std::vector<float>(kCount, 4));
    EXPECT_EQ(missed_.exchange(), nullptr);
    EXPECT_TRUE(partial_->terms()) << "of a job in which nobody here has reduced yet";
}

TEST_F(MissedPartialTest, IsFetchedAsAnyOtherIfAllMembersHadCalledIt) {
    fetch();
    give({Verdict::everyone, {}, 1, {}});
    until_heard("fetch_result(2) ");
}

TEST_F(MissedPartialTest, IsSkippedIfItHadNoResult) {
    fetch();
    give({Verdict::nothing, {}, 1, {}});
    until_heard(fmt::format("skip({}) go_on ", static_cast<int>(Verdict::nothing)));
}

TEST_F(MissedPartialTest, IsNotFetchedFurtherWhenAnotherViewIsPrepared) {
    fetch();
    ASSERT_TRUE(here_.sequence.prepare(2));
    give({Verdict::sum, {{0, 0}}, 1, {}}, std::vector<float>(kCount, 4));
    until_heard("go_on ");
}

TEST_F(MissedPartialTest, IsGivenUpIfWhatIsToldDoesNotParse) {
    end_round(here_, {1, 2});
    fetch();
    std::vector<std::byte> told(told_round_bytes(there_.sequence.round_view().roster()),
                                std::byte{255});
    there_.result.tell(std::move(told));
    end_round(there_, {3, 4});
    testing::internal::CaptureStderr();
    there_.result.serve(kHere);
    until_heard(fmt::format("skip({}) go_on ", static_cast<int>(Verdict::nothing)));
    EXPECT_NE(testing::internal::GetCapturedStderr().find("does not parse"), std::string::npos);
    EXPECT_FALSE(here_.result.is_here());
}

TEST_F(MissedPartialTest, WaitsForAnotherDonorIfThisOneIsLost) {
    fetch();
    ASSERT_NE(missed_.exchange(), nullptr);
    missed_.exchange()->abort(base::make_error(base::ErrorKind::unavailable, "the donor is gone"));
    until_heard("wait_for_view go_on ");
}

}  // namespace
}  // namespace pace::daemon
