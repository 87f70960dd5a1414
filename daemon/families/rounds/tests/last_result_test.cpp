// The result of the last round: how long it is kept, and that nodes that lack it get it.
#include "daemon/families/rounds/last_result.h"

#include <vector>

#include <gtest/gtest.h>

#include "daemon/exchange/taking.h"
#include "daemon/families/rounds/tests/two_nodes_fixture.h"
#include "daemon/families/rounds/told_round.h"

namespace pace::daemon {
namespace {

using Bytes = std::vector<std::byte>;
using Kind = Exchange::Kind;

class LastResultTest : public TwoNodesOfAJob {
  protected:
    static constexpr size_t kCount = 1024;

    using TwoNodesOfAJob::TwoNodesOfAJob;

    // Fetches at `here`, as a node that has missed the round.
    void fetch() {
        Exchange::Plan plan =
            plan_fetch(here_.job, kRound, ExchangeKind::fetch, kThere, kCheck, layout_of(kCount));
        Scratch lent = here_.result.lend(plan);
        exchange_ = Exchange::start(*here_.own_services, std::move(plan), std::move(lent),
                                    [this](ExchangeOutcome& outcome) {
                                        EXPECT_TRUE(outcome) << outcome.error().message;
                                        here_.result.keep(outcome);
                                        (void)here_.sequence.end();
                                        fetched_ = true;
                                    });
    }
    // What is told ahead of the result, under this number.
    Bytes take(uint64_t number, uint32_t check, size_t size) {
        Bytes bytes;
        bool ended = false;
        Taking::take(here_.job.scope, *here_.own_services, here_.result.about(kThere), number,
                     check, size, [&](const base::Result<std::span<const std::byte>>& got) {
                         if (got) bytes.assign(got->begin(), got->end());
                         ended = true;
                     });
        EXPECT_TRUE(until([&] { return ended; }));
        return bytes;
    }
    // Whether the result's memory may be used by this exchange.
    bool is_lent(Kind kind, size_t count, size_t nodes = 2) {
        Exchange::Plan plan;
        plan.kind = kind;
        plan.nodes.resize(nodes);
        plan.layout = layout_of(count);
        Scratch lent = there_.result.lend(plan);
        const bool is_lent = lent.size() != 0;
        there_.result.put_back(std::move(lent));
        return is_lent;
    }

    std::shared_ptr<Exchange> exchange_;
    bool fetched_ = false;
    const std::vector<float> values_ = std::vector<float>(kCount, 3);
};

TEST_F(LastResultTest, IsHereUntilTheNextRoundEnds) {
    EXPECT_FALSE(there_.result.is_here());
    EXPECT_EQ(there_.result.epoch(), 0U);
    end_round(there_, values_);
    EXPECT_TRUE(there_.result.is_here());
    EXPECT_EQ(there_.result.epoch(), 1U);
    (void)there_.sequence.end();
    EXPECT_FALSE(there_.result.is_here());
    EXPECT_EQ(there_.result.epoch(), 0U);
}

TEST_F(LastResultTest, IsGivenToANodeThatLacksIt) {
    end_round(there_, values_);
    fetch();
    EXPECT_FALSE(there_.result.is_giving());
    there_.result.serve(kHere);
    EXPECT_TRUE(there_.result.is_giving());
    ASSERT_TRUE(until([this] { return fetched_; }));
    EXPECT_TRUE(here_.result.is_here()) << "for nodes that lack it in the next view";
    EXPECT_TRUE(std::ranges::equal(here_.result.bytes(), std::as_bytes(std::span(values_))));
    EXPECT_TRUE(is_given());
    EXPECT_EQ(floats_in(there_.result.take_memory(), kCount), values_) << "a copy was given";
}

TEST_F(LastResultTest, IsGivenAlthoughTheNextRoundFormsInItsMemory) {
    end_round(there_, values_);
    there_.result.serve(kHere);
    there_.result.drop();
    there_.result.put_back(memory_of(std::vector<float>(kCount, 9)));
    fetch();
    ASSERT_TRUE(until([this] { return fetched_; }));
    EXPECT_TRUE(std::ranges::equal(here_.result.bytes(), std::as_bytes(std::span(values_))));
}

TEST_F(LastResultTest, IsNotGivenWhenAnotherViewIsPrepared) {
    end_round(there_, values_);
    there_.result.serve(kHere);
    there_.result.stop_giving(base::make_error(base::ErrorKind::aborted, "another view"));
    EXPECT_TRUE(is_given());
}

TEST_F(LastResultTest, ThatIsNotHereIsNotGiven) {
    there_.result.serve(kHere);
    EXPECT_FALSE(there_.result.is_giving());
}

TEST_F(LastResultTest, LendsItsMemoryOnlyToWhatMakesItUnneeded) {
    there_.result.put_back(memory_of(values_));
    EXPECT_TRUE(is_lent(Kind::broadcast, kCount)) << "there is no result";
    EXPECT_FALSE(is_lent(Kind::reduce, kCount, 1)) << "on one node alone sums form in place";
    EXPECT_FALSE(is_lent(Kind::barrier, 0)) << "nothing forms";
    end_round(there_, values_);
    EXPECT_TRUE(is_lent(Kind::reduce, kCount)) << "nothing is written before all nodes have begun";
    EXPECT_FALSE(is_lent(Kind::reduce, 1'000'000)) << "the memory would be released";
    EXPECT_FALSE(is_lent(Kind::broadcast, kCount)) << "the root writes at once";
    EXPECT_TRUE(is_lent(Kind::fetch, kCount)) << "who fetches is behind everybody";
}

TEST_F(LastResultTest, IsDroppedIfItsMemoryIsLost) {
    end_round(there_, values_);
    there_.result.lose_lent();
    EXPECT_TRUE(there_.result.is_here()) << "nothing was lent";
    Exchange::Plan plan;
    plan.nodes.resize(2);
    plan.layout = layout_of(kCount);
    (void)there_.result.lend(plan);
    there_.result.lose_lent();
    EXPECT_FALSE(there_.result.is_here());
}

TEST_F(LastResultTest, IsDroppedWhenAllOtherNodesAreKnownToHaveIt) {
    end_round(there_, values_);
    fetch();
    there_.result.serve(kHere);
    ASSERT_TRUE(until([this] { return fetched_; }));
    here_.result.met({kThere + 1});
    EXPECT_TRUE(here_.result.is_here());
    EXPECT_EQ(here_.result.spare_memory().size(), 0U);
    here_.result.met({kThere});
    EXPECT_FALSE(here_.result.is_here());
    EXPECT_NE(here_.result.spare_memory().size(), 0U);
    EXPECT_EQ(here_.result.spare_memory().size(), 0U) << "given away";
}

class TopKResultTest : public LastResultTest {
  protected:
    TopKResultTest() : LastResultTest(top_k()) {}
};

TEST_F(TopKResultTest, ComesWithTheZerosThatWereChosen) {
    const auto hidden = std::make_shared<const Bytes>(Bytes{std::byte{3}, std::byte{5}});
    there_.result.hide(17, *hidden, hidden);
    end_round(there_, values_);
    there_.result.serve(kHere);
    const Bytes head = take(hidden_number(here_.job, kHere, 0), 0, 2 * sizeof(uint64_t));
    ASSERT_EQ(head.size(), 16U);
    EXPECT_EQ(head[0], std::byte{2}) << "bytes";
    EXPECT_EQ(head[8], std::byte{17}) << "elements";
    EXPECT_EQ(take(hidden_number(here_.job, kHere, 1), 0, hidden->size()), *hidden);
}

class PartialResultTest : public LastResultTest {
  protected:
    PartialResultTest() : LastResultTest(quorum()) {}
};

TEST_F(PartialResultTest, ComesWithTheKindOfRoundThatItWas) {
    const Bytes told(100, std::byte{42});
    there_.result.tell(told);
    end_round(there_, values_);
    there_.result.serve(kHere);
    EXPECT_EQ(take(fetch_number(here_.job, ExchangeKind::fetch_told, kHere), kToldRoundCheck,
                   told.size()),
              told);
}

}  // namespace
}  // namespace pace::daemon
