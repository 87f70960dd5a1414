// What a group or a round that does not come to pass leaves behind: a line in the log, and nothing
// of what others have sent for it.
#include <string>

#include "daemon/exchange/exchange.h"
#include "daemon/families/rounds/round_plan.h"
#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

constexpr uint64_t kGroupElements = 100;

class Failures : public TwoNodes {
  protected:
    void all_arrives() {
        while (network_.progress()) loop_->turn(false);
    }
    control::GroupOrder order_of(control::GroupId group, uint32_t digest) const {
        control::GroupOrder order;
        order.group = group;
        order.epoch = 1;
        order.iteration = 1;
        order.members = {{.rank = kTheirs, .node = kOther, .iteration = 1, .weight = 0.5},
                         {.rank = kOurs, .node = kSelf, .iteration = 1, .weight = 0.5}};
        order.digest = digest;
        return order;
    }
    uint64_t unexpected() const { return transport_->counters().messages_unexpected; }
    // The log while the other node is lost and the exchanges that wait for it fail.
    std::string log_of_a_loss() {
        testing::internal::CaptureStderr();
        lose_the_other_node();
        EXPECT_TRUE(until([this] { return !job_->is_exchanging(); }));
        return testing::internal::GetCapturedStderr();
    }
    // A buffer of more bytes than there are addresses.
    static BufferPtr boundless() {
        auto buffer = std::make_shared<Buffer>();
        buffer->memory = base::MappedMemfd::create("test", sizeof(float), false).value();
        buffer->count = uint64_t{1} << 46U;
        return buffer;
    }
    static bool has(const std::string& log, const std::string& words) {
        return log.find(words) != std::string::npos;
    }

    const BufferPtr buffer_ = buffer_of(kGroupElements, 3);
    const BufferPtr other_buffer_ = buffer_of(kGroupElements, 5);
};

// -------------------------------------------------------------------------------------------- logs

TEST_F(Failures, OfAGroupAreInTheLogWithTheirReason) {
    open(in_pairs(control::Policy::partial_reduce));
    commit(1);
    call(Verb::average, buffer_);
    job_->order(order_of(5, worker_->head().digest));
    ASSERT_TRUE(job_->is_exchanging());
    const std::string log = log_of_a_loss();
    EXPECT_TRUE(has(log, "a group's exchange has failed") && has(log, "group=5") &&
                has(log, "node 2"))
        << log;
}

TEST_F(Failures, OfAStaticGroupAreInTheLogWithTheirReason) {
    open(in_pairs(control::Policy::prague_static));
    commit(1);
    call(Verb::average, buffer_);
    ASSERT_TRUE(job_->is_exchanging());
    const std::string log = log_of_a_loss();
    EXPECT_TRUE(has(log, "a group's exchange has failed") && has(log, "node 2")) << log;
    EXPECT_TRUE(job_->state().wants_view);
}

TEST_F(Failures, OfARoundAreInTheLogWithTheirReason) {
    open(in_pairs(control::Policy::all_reduce));
    commit(1);
    call(Verb::reduce, buffer_);
    ASSERT_TRUE(job_->is_exchanging());
    const std::string log = log_of_a_loss();
    EXPECT_TRUE(has(log, "a round has failed") && has(log, "round=0") && has(log, "node 2")) << log;
    EXPECT_TRUE(job_->state().wants_view);
}

// The view may be wanted for another reason.
TEST_F(Failures, OfARoundDoNotTakeBackThatAnotherViewIsWanted) {
    open(in_pairs(control::Policy::all_reduce));
    commit(1);
    call(Verb::reduce, buffer_);
    job_->state().wants_view = true;
    prepare(2);
    ASSERT_TRUE(until([this] { return !job_->is_exchanging(); }));
    EXPECT_TRUE(job_->state().wants_view);
}

// Another view, or another group, would have no more memory.
TEST_F(Failures, ForWantOfMemoryEndTheCallsOfAStaticGroup) {
    open(in_pairs(control::Policy::prague_static));
    commit(1);
    testing::internal::CaptureStderr();
    const uint64_t id = call(Verb::average, boundless());
    turn();
    const std::string log = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(port_.ended(id));
    EXPECT_EQ(outcome_of(id), Outcome::failed);
    EXPECT_EQ(port_.endings.at(id).kind, base::ErrorKind::memory);
    EXPECT_TRUE(has(log, "a group's exchange has failed") && has(log, "bytes of memory")) << log;
    EXPECT_TRUE(job_->state().wants_view) << "the others wait for this node";
}

TEST_F(Failures, ForWantOfMemoryEndTheCallsOfAGroup) {
    open(in_pairs(control::Policy::partial_reduce));
    commit(1);
    const uint64_t id = call(Verb::average, boundless());
    job_->order(order_of(5, worker_->head().digest));
    turn();
    ASSERT_TRUE(port_.ended(id));
    EXPECT_EQ(port_.endings.at(id).kind, base::ErrorKind::memory);
}

// ------------------------------------------------------------------------------------ what is left

TEST_F(Failures, OfGroupsThatAreRefusedHereLeaveNothingOfWhatOthersSend) {
    open(in_pairs(control::Policy::partial_reduce));
    commit(1);
    call_there(Verb::average, other_buffer_);
    listen();
    for (control::GroupId group = 1; group <= 20; ++group) {
        const control::GroupOrder order = order_of(group, other_worker_->head().digest);
        const bool is_early = group % 2 == 0;
        if (!is_early) job_->order(order);
        other_job_->order(order);
        ASSERT_EQ(other_worker_->state, Worker::State::moving);
        all_arrives();
        if (is_early) {
            EXPECT_GT(unexpected(), 0U);
            job_->order(order);
        }
        other_job_->abort_group(group, base::make_error(base::ErrorKind::aborted, "refused"));
        ASSERT_TRUE(until([this] { return !other_job_->is_exchanging(); }));
        all_arrives();
        ASSERT_EQ(unexpected(), 0U) << "after group " << group;
    }
}

// Workers of this node disagree, and so do those of the other. Each node tells the other.
TEST_F(Failures, OfCallsThatDisagreeOnBothNodesLeaveNothingOfWhatTheOtherSays) {
    open(in_pairs(control::Policy::all_reduce));
    const WorkerPtr second = new_worker(2);
    job_->add(second);
    control::CommitView view;
    view.epoch = 1;
    view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}, {2, kSelf, 0, 0}};
    job_->commit(view);
    for (uint64_t round = 0; round < 20; ++round) {
        ASSERT_EQ(job_->rounds().completed(), round);
        const bool is_told_before = round % 2 == 0;
        const auto tell = [&] {
            send_poison(other_services_, round_number(job_->state(), round), {kSelf});
            all_arrives();
        };
        if (is_told_before) tell();
        const uint64_t id = call(Verb::reduce, buffer_);
        call(*job_, second, Verb::broadcast, other_buffer_);
        ASSERT_TRUE(port_.ended(id));
        if (!is_told_before) tell();
        ASSERT_EQ(unexpected(), 0U) << "after round " << round;
    }
}

// What others send for held orders goes to no running exchange.
TEST_F(Failures, OfOrdersThatAreHeldLeaveNothingOfWhatOthersSend) {
    open(in_pairs(control::Policy::partial_reduce));
    commit(1);
    call_there(Verb::average, other_buffer_);
    const control::GroupOrder order = order_of(5, other_worker_->head().digest);
    worker_->average_digest = order.digest;
    job_->announce(worker_, 1);
    job_->order(order);
    other_job_->order(order);
    listen();
    all_arrives();
    EXPECT_GT(unexpected(), 0U);
    job_->invalidate(base::make_error(base::ErrorKind::aborted, "it was silent"));
    all_arrives();
    EXPECT_EQ(unexpected(), 0U);
}

class OfAnOldView : public Failures, public testing::WithParamInterface<control::Policy> {};

TEST_P(OfAnOldView, WhatOthersHadBegunAndThisNodeHadNotIsDropped) {
    open(in_pairs(GetParam()));
    commit(1);
    const bool averages = GetParam() == control::Policy::prague_static;
    call_there(averages ? Verb::average : Verb::reduce, other_buffer_);
    ASSERT_EQ(other_worker_->state, Worker::State::moving);
    listen();
    all_arrives();
    EXPECT_GT(unexpected(), 0U);
    prepare(2);
    control::CommitView view;
    view.epoch = 2;
    view.members = {{kOurs, kSelf, 0, 0}};
    job_->commit(view);
    EXPECT_EQ(unexpected(), 0U);
}

TEST_P(OfAnOldView, WhatOthersHadBegunAndThisNodeHadNotIsDroppedIfItIsExcluded) {
    open(in_pairs(GetParam()));
    commit(1);
    const bool averages = GetParam() == control::Policy::prague_static;
    call_there(averages ? Verb::average : Verb::reduce, other_buffer_);
    listen();
    all_arrives();
    job_->invalidate(base::make_error(base::ErrorKind::aborted, "it was silent"));
    EXPECT_EQ(unexpected(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, OfAnOldView,
                         testing::Values(control::Policy::all_reduce,
                                         control::Policy::prague_static),
                         [](const auto& policy) {
                             return policy.param == control::Policy::all_reduce ? "Rounds"
                                                                                : "StaticGroups";
                         });

}  // namespace
}  // namespace pace::daemon
