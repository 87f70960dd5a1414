// An exchange from its plan to its end: on one node alone, and between two.
#include "daemon/exchange/exchange.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/control/absent_controller.h"
#include "daemon/members/node_fixture.h"

namespace pace::daemon {
namespace {

using base::ErrorKind;
using base::Result;

class ExchangeTest : public NodeFixture {
  protected:
    static constexpr uint64_t kNumber = 5;
    static constexpr size_t kCount = 4;

    // How an exchange of one of the nodes ended, and the buffers of its members.
    struct Execution {
        std::vector<BufferPtr> buffers;
        std::shared_ptr<Exchange> exchange;
        int ends = 0;
        Result<> result;
        bool contents_lost = false;
        NodeId unlike = 0;
    };

    ExchangeTest() {
        other_services_.self = kOther;
        loop_->add_poller(transport_.get());
        loop_->add_poller(other_transport_.get());
    }
    ~ExchangeTest() override {
        loop_->remove_poller(transport_.get());
        loop_->remove_poller(other_transport_.get());
        other_transport_->end();
    }

    void nodes_know_each_other() {
        (void)peers_.know(kOther, "other", other_transport_->address());
        (void)other_peers_.know(kSelf, "self", transport_->address());
    }

    static BufferPtr buffer_of(float value) {
        return request_of(protocol::Verb::reduce, 1, 1, value, kCount).buffers.front();
    }
    // A sum in place of members with these values.
    static Exchange::Plan sum_of(const std::vector<BufferPtr>& buffers) {
        Exchange::Plan plan;
        plan.job = kJob;
        plan.what = "a sum";
        plan.nodes = {kSelf};
        plan.layout = layout_of({buffers.front()});
        for (const BufferPtr& buffer : buffers) {
            plan.contributions.push_back({segments_of({buffer}), 1.0});
            plan.recipients.push_back({buffer});
            plan.marks.push_back(nullptr);
        }
        return plan;
    }
    static Exchange::Plan sum_among_nodes(const std::vector<BufferPtr>& buffers, size_t self) {
        Exchange::Plan plan = sum_of(buffers);
        plan.nodes = {kSelf, kOther};
        plan.self = self;
        plan.number = kNumber;
        return plan;
    }
    static void start(Services& services, Execution& execution, Exchange::Plan plan) {
        execution.exchange = Exchange::start(services, std::move(plan), {},
                                             [&execution](const ExchangeOutcome& outcome) {
                                                 ++execution.ends;
                                                 execution.result = outcome.result;
                                                 execution.contents_lost = outcome.contents_lost;
                                                 execution.unlike = outcome.unlike;
                                             });
    }
    static std::vector<float> values_of(const Execution& execution) {
        std::vector<float> found;
        for (const BufferPtr& buffer : execution.buffers) found.push_back(*values(*buffer));
        return found;
    }
    // The watch over progress looks.
    base::Duration looked_at() {
        base::Duration longest{};
        services_.active.each([&longest](const std::shared_ptr<Active>& exchange) {
            longest = std::max(longest, exchange->stalled_for(base::now()));
        });
        return longest;
    }

    std::unique_ptr<transports::MemoryTransport> other_transport_ = network_.create();
    Peers other_peers_{*other_transport_};
    AbsentController other_controller_;
    const std::unique_ptr<Services> own_other_services_ =
        std::make_unique<Services>(*loop_, *other_transport_, other_peers_, pool_, counters_,
                                   ExchangeOptions{}, disk_, other_controller_, gpu_groups_);
    Services& other_services_ = *own_other_services_;
    Execution here_;
    Execution there_;
};

TEST_F(ExchangeTest, ASumOnOneNodeEndsBeforeStartReturns) {
    here_.buffers = {buffer_of(1), buffer_of(2)};
    start(services_, here_, sum_of(here_.buffers));
    EXPECT_EQ(here_.ends, 1);
    EXPECT_TRUE(here_.result);
    EXPECT_TRUE(here_.exchange->ended());
    EXPECT_EQ(values_of(here_), (std::vector<float>{3, 3}));
    EXPECT_FALSE(services_.active.any());
}

// The caller has not stored the exchange yet when start() fails.
TEST_F(ExchangeTest, AFailureIsToldAfterStartHasReturned) {
    here_.buffers = {buffer_of(1)};
    start(services_, here_, sum_among_nodes(here_.buffers, 0));  // of a node that nobody knows
    EXPECT_EQ(here_.ends, 0);
    EXPECT_FALSE(here_.exchange->ended());
    settle();
    EXPECT_EQ(here_.ends, 1);
    EXPECT_FALSE(here_.result);
    EXPECT_FALSE(here_.contents_lost);
    EXPECT_EQ(values_of(here_), std::vector<float>{1});
    EXPECT_FALSE(services_.active.any());
}

TEST_F(ExchangeTest, WritesNothingToMembersWhileTheirModelIsHeld) {
    here_.buffers = {buffer_of(1), buffer_of(2)};
    Exchange::Plan plan = sum_of(here_.buffers);
    plan.hold = std::make_shared<ModelHold>();
    const std::shared_ptr<ModelHold> hold = plan.hold;
    hold->begin();
    start(services_, here_, std::move(plan));
    settle();
    EXPECT_EQ(here_.ends, 0);
    EXPECT_EQ(values_of(here_), (std::vector<float>{1, 2}));
    // It commits already, and nothing stops it.
    here_.exchange->abort(base::make_error(ErrorKind::aborted, "too late"));
    settle();
    EXPECT_EQ(here_.ends, 0);
    hold->end();
    EXPECT_EQ(here_.ends, 1);
    EXPECT_TRUE(here_.result);
    EXPECT_EQ(values_of(here_), (std::vector<float>{3, 3}));
}

TEST_F(ExchangeTest, MembersThatMakeNothingEndIt) {
    here_.buffers = {buffer_of(1), buffer_of(2)};
    Exchange::Plan plan = sum_of(here_.buffers);
    plan.progress =
        std::make_shared<collectives::Progress>(protocol::Order::forward, plan.layout, 1);
    start(services_, here_, std::move(plan));
    EXPECT_TRUE(services_.active.any());
    pass(services_.options.making_deadline);
    (void)looked_at();
    EXPECT_EQ(here_.ends, 0);
    pass(std::chrono::milliseconds(1));
    (void)looked_at();
    settle();
    EXPECT_EQ(here_.ends, 1);
    ASSERT_FALSE(here_.result);
    EXPECT_EQ(here_.result.error().kind, ErrorKind::timeout);
    EXPECT_FALSE(here_.contents_lost);
    EXPECT_EQ(values_of(here_), (std::vector<float>{1, 2}));
    EXPECT_FALSE(services_.active.any());
}

TEST_F(ExchangeTest, IsSummedOnceItsMembersHaveMadeAll) {
    here_.buffers = {buffer_of(1), buffer_of(2)};
    Exchange::Plan plan = sum_of(here_.buffers);
    const auto progress =
        std::make_shared<collectives::Progress>(protocol::Order::forward, plan.layout, 1);
    plan.progress = progress;
    start(services_, here_, std::move(plan));
    progress->advance(kCount - 1);
    EXPECT_EQ(here_.ends, 0);
    progress->advance(kCount);
    EXPECT_EQ(here_.ends, 1);
    EXPECT_TRUE(here_.result);
    EXPECT_EQ(values_of(here_), (std::vector<float>{3, 3}));
}

TEST_F(ExchangeTest, NodesSumAndTellEachOtherTheirNumbers) {
    nodes_know_each_other();
    here_.buffers = {buffer_of(1), buffer_of(2)};
    there_.buffers = {buffer_of(4), buffer_of(8)};
    Exchange::Plan ours = sum_among_nodes(here_.buffers, 0);
    Exchange::Plan theirs = sum_among_nodes(there_.buffers, 1);
    ours.numbers = {{10, 11}, {0, 0}};
    theirs.numbers = {{0, 0}, {20, 21}};
    start(services_, here_, std::move(ours));
    settle();
    EXPECT_TRUE(services_.active.any());
    EXPECT_EQ(here_.exchange->waiting_for(), std::vector<NodeId>{kOther});
    EXPECT_EQ(values_of(here_), (std::vector<float>{1, 2}));
    start(other_services_, there_, std::move(theirs));
    settle();
    for (const Execution* node : {&here_, &there_}) {
        EXPECT_EQ(node->ends, 1);
        EXPECT_TRUE(node->result);
        EXPECT_EQ(values_of(*node), (std::vector<float>{15, 15}));
        EXPECT_EQ(node->exchange->plan().numbers,
                  (std::vector<std::vector<uint64_t>>{{10, 11}, {20, 21}}));
    }
    EXPECT_FALSE(services_.active.any());
}

TEST_F(ExchangeTest, GivenUpItLeavesTheBuffersAsTheyWere) {
    nodes_know_each_other();
    here_.buffers = {buffer_of(1)};
    start(services_, here_, sum_among_nodes(here_.buffers, 0));
    settle();
    here_.exchange->abort(base::make_error(ErrorKind::aborted, "another view"));
    here_.exchange->abort(base::make_error(ErrorKind::timeout, "the second reason"));
    settle();
    EXPECT_EQ(here_.ends, 1);
    ASSERT_FALSE(here_.result);
    EXPECT_EQ(here_.result.error().message, "another view");
    EXPECT_EQ(values_of(here_), std::vector<float>{1});
    EXPECT_FALSE(services_.active.any());
}

// The two calls share no message, so that only the question after a stall tells.
TEST_F(ExchangeTest, ANodeThatCalledSomethingElseIsNamedAfterAStall) {
    nodes_know_each_other();
    here_.buffers = {buffer_of(1)};
    there_.buffers = {buffer_of(2)};
    Exchange::Plan ours = sum_among_nodes(here_.buffers, 0);
    Exchange::Plan theirs = sum_among_nodes(there_.buffers, 1);
    ours.check = 1;
    theirs.check = 2;
    ours.kind = Exchange::Kind::fetch;  // which only receives
    ours.root = 1;
    theirs.kind = Exchange::Kind::fetch;
    theirs.root = 0;
    start(services_, here_, std::move(ours));
    start(other_services_, there_, std::move(theirs));
    settle();
    EXPECT_EQ(here_.ends, 0);
    pass(std::chrono::milliseconds(200));
    EXPECT_GE(looked_at(), std::chrono::milliseconds(200));
    there_.exchange->ask_others();
    settle();
    EXPECT_EQ(here_.ends, 1);
    ASSERT_FALSE(here_.result);
    EXPECT_EQ(here_.result.error().kind, ErrorKind::mismatch);
    EXPECT_EQ(here_.unlike, kOther);
    EXPECT_EQ(values_of(here_), std::vector<float>{1});
    there_.exchange->abort(base::make_error(ErrorKind::aborted, "the test ends"));
    settle();
}

TEST_F(ExchangeTest, ANodeThatTakesPartHasBeenHeard) {
    nodes_know_each_other();
    here_.buffers = {buffer_of(1)};
    there_.buffers = {buffer_of(2)};
    Exchange::Plan ours = sum_among_nodes(here_.buffers, 0);
    Exchange::Plan theirs = sum_among_nodes(there_.buffers, 1);
    for (Exchange::Plan* const plan : {&ours, &theirs}) plan->kind = Exchange::Kind::fetch;
    ours.root = 1;
    theirs.root = 0;
    start(services_, here_, std::move(ours));
    EXPECT_EQ(here_.exchange->unheard(), std::vector<NodeId>{kOther});
    here_.exchange->ask_others();
    settle();
    EXPECT_EQ(here_.exchange->unheard(), std::vector<NodeId>{kOther});
    start(other_services_, there_, std::move(theirs));
    there_.exchange->ask_others();
    settle();
    EXPECT_TRUE(here_.exchange->unheard().empty());
    for (const Execution* node : {&here_, &there_})
        node->exchange->abort(base::make_error(ErrorKind::aborted, "the test ends"));
    settle();
    EXPECT_EQ(here_.ends + there_.ends, 2);
}

}  // namespace
}  // namespace pace::daemon
