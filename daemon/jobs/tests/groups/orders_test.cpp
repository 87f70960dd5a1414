// Groups that the controller orders: what their members say before, get, and say afterwards.
#include "daemon/jobs/tests/groups/groups_fixture.h"

namespace pace::daemon {
namespace {

using control::Policy;
using control::ReadyStage;
using protocol::Outcome;
using protocol::Verb;
using std::chrono::milliseconds;
using std::chrono::seconds;

class GroupOrders : public GroupsFixture {
  protected:
    GroupOrders() {
        begin(Policy::partial_reduce);
        listen();
    }
};

TEST_F(GroupOrders, FollowACallThatTheControllerHearsOf) {
    const uint64_t id = average(worker_, buffer_, 4);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(worker_, 4)});
    pass(seconds(60));
    EXPECT_FALSE(has_ended(id));
    EXPECT_TRUE(ours.take<control::Ready>().empty()) << "it said so once";
}

TEST_F(GroupOrders, WeighTheMembersAsTheySay) {
    const uint64_t our_call = average(worker_, buffer_, 7);
    const uint64_t their_call = average(other_worker_, other_buffer_, 9);
    std::ranges::fill(floats(*buffer_), 4.0F);
    std::ranges::fill(floats(*other_buffer_), 8.0F);
    control::GroupOrder order = order_of(5, {other_worker_, worker_});
    order.members[0].weight = 0.25;
    order.members[1].weight = 0.75;
    order.iteration = 10;
    give_both(order);
    EXPECT_TRUE(holds(buffer_, 5));
    EXPECT_TRUE(holds(other_buffer_, 5));
    for (const uint64_t id : {our_call, their_call}) {
        ASSERT_TRUE(is_done(id));
        EXPECT_EQ(ending(id).group, 5U);
        EXPECT_EQ(ending(id).iteration, 10U);
        EXPECT_EQ(ending(id).nodes, 2U);
        EXPECT_GT(ending(id).bytes_sent, 0U);
        EXPECT_EQ(ending(id).bytes_received, ending(id).bytes_sent);
        const MemberList& members = *ending(id).members;
        ASSERT_EQ(members.size(), 2U);
        EXPECT_EQ(members[0].rank, kTheirs);
        EXPECT_EQ(members[0].staleness, 0U);
        EXPECT_EQ(members[0].weight, 0.25);
        EXPECT_EQ(members[1].rank, kOurs);
        EXPECT_EQ(members[1].staleness, 2U);
        EXPECT_EQ(members[1].weight, 0.75);
    }
    EXPECT_FALSE(job_->is_exchanging());
}

TEST_F(GroupOrders, AreReportedByEachNodeThatHasDoneItsPart) {
    const uint64_t id = average(worker_, buffer_);
    average(other_worker_, other_buffer_);
    const control::GroupOrder order = order_of(5, {other_worker_, worker_});
    give(order);
    EXPECT_TRUE(ours.take<control::GroupDone>().empty()) << "the other node has not begun";
    pass(milliseconds(30));
    give_there(order);
    const auto done = ours.take<control::GroupDone>();
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].job, kJob);
    EXPECT_EQ(done[0].group, 5U);
    EXPECT_FALSE(done[0].failed);
    EXPECT_EQ(done[0].reason, "");
    EXPECT_EQ(done[0].bytes, ending(id).bytes_sent);
    EXPECT_EQ(done[0].moving_ns, 30'000'000U);
    EXPECT_EQ(theirs.take<control::GroupDone>().size(), 1U);
}

TEST_F(GroupOrders, TellACallHowLongItWaitedAndMoved) {
    const uint64_t id = average(worker_, buffer_);
    average(other_worker_, other_buffer_);
    pass(milliseconds(200));
    const control::GroupOrder order = order_of(5, {other_worker_, worker_});
    give(order);
    pass(milliseconds(30));
    give_there(order);
    ASSERT_TRUE(is_done(id));
    EXPECT_EQ(ending(id).queued_ns, 200'000'000U);
    EXPECT_EQ(ending(id).moving_ns, 30'000'000U);
}

TEST_F(GroupOrders, AverageSeveralMembersOfANodeWithThoseOfOthers) {
    const uint64_t first = average(worker_, buffer_);
    const uint64_t second = average(second_, second_buffer_);
    average(other_worker_, other_buffer_);
    give_both(order_of(5, {other_worker_, worker_, second_}));
    EXPECT_TRUE(is_done(first) && is_done(second));
    for (const BufferPtr& buffer : {buffer_, second_buffer_, other_buffer_})
        EXPECT_TRUE(holds(buffer, 6)) << floats(*buffer).front();
    EXPECT_EQ(ours.take<control::GroupDone>().size(), 1U) << "one for the node";
}

// The sum of a node's members is infinite, and the mean is not.
TEST_F(GroupOrders, AverageLargeNumbersWithoutOverflow) {
    constexpr float kLarge = 0x1p127F;
    for (const BufferPtr& buffer : {buffer_, second_buffer_, other_buffer_})
        std::ranges::fill(floats(*buffer), kLarge);
    average(worker_, buffer_);
    average(second_, second_buffer_);
    average(other_worker_, other_buffer_);
    control::GroupOrder order = order_of(5, {other_worker_, worker_, second_});
    give_both(order);
    for (const BufferPtr& buffer : {buffer_, second_buffer_, other_buffer_})
        EXPECT_NEAR(floats(*buffer).front() / kLarge, 1, 1e-6);
}

TEST_F(GroupOrders, OfMembersHereAloneSendNothing) {
    const uint64_t id = average(worker_, buffer_);
    average(second_, second_buffer_);
    give(order_of(5, {worker_, second_}));
    ASSERT_TRUE(is_done(id));
    EXPECT_TRUE(holds(buffer_, 4) && holds(second_buffer_, 4));
    EXPECT_EQ(ending(id).nodes, 1U);
    EXPECT_EQ(ending(id).bytes_sent, 0U);
    EXPECT_EQ(transport_->counters().messages_sent, 0U);
}

TEST_F(GroupOrders, OfOneMemberLeaveItItsModel) {
    const uint64_t id = average(worker_, buffer_, 6);
    give(order_of(5, {worker_}));
    ASSERT_TRUE(is_done(id));
    EXPECT_TRUE(holds(buffer_, 3));
    EXPECT_EQ(ending(id).iteration, 6U);
    EXPECT_EQ(ending(id).members->size(), 1U);
}

TEST_F(GroupOrders, OfOneMemberCopyItsModelIfItWantsTheResultElsewhere) {
    Request called = average_of(buffer_, 1);
    called.results = {second_buffer_};
    called.out_of_place = true;
    const uint64_t id = submit(worker_, std::move(called));
    give(order_of(5, {worker_}));
    ASSERT_TRUE(is_done(id));
    EXPECT_TRUE(holds(second_buffer_, 3));
}

TEST_F(GroupOrders, LeaveTheContentsAloneIfTheResultGoesElsewhere) {
    const BufferPtr results = buffer_of(kElements, 0);
    Request called = average_of(buffer_, 1);
    called.results = {results};
    called.out_of_place = true;
    const uint64_t id = submit(worker_, std::move(called));
    average(second_, second_buffer_);
    average(other_worker_, other_buffer_);
    give_both(order_of(5, {other_worker_, worker_, second_}));
    ASSERT_TRUE(is_done(id));
    EXPECT_TRUE(holds(results, 6) && holds(second_buffer_, 6));
    EXPECT_TRUE(holds(buffer_, 3));
}

TEST_F(GroupOrders, RunSideBySide) {
    const WorkerPtr third = new_worker(3);
    job_->add(third);
    const BufferPtr third_buffer = buffer_of(kElements, 20);
    const uint64_t among_nodes = average(worker_, buffer_);
    average(other_worker_, other_buffer_);
    const control::GroupOrder slow = order_of(5, {other_worker_, worker_});
    give(slow);
    const uint64_t here = average(second_, second_buffer_);
    average(third, third_buffer);
    give(order_of(6, {second_, third}));
    ASSERT_TRUE(is_done(here));
    EXPECT_EQ(ending(here).group, 6U);
    EXPECT_TRUE(holds(second_buffer_, 12.5F) && holds(third_buffer, 12.5F));
    ASSERT_FALSE(has_ended(among_nodes));
    give_there(slow);
    ASSERT_TRUE(is_done(among_nodes));
    EXPECT_EQ(ending(among_nodes).group, 5U);
    EXPECT_TRUE(holds(buffer_, 6.5F));
}

TEST_F(GroupOrders, ComeOneAfterTheOtherForCallsThatQueue) {
    const uint64_t first = average(worker_, buffer_, 1);
    const uint64_t next = average(worker_, buffer_, 2);
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(worker_, 1)});
    give(order_of(5, {worker_}));
    EXPECT_TRUE(is_done(first));
    EXPECT_EQ(ours.take<control::Ready>(), std::vector{ready_signal(worker_, 2)});
    EXPECT_FALSE(has_ended(next));
}

// --------------------------------------------------------------------------------- initial model

class WithInitialModel : public GroupsFixture {
  protected:
    WithInitialModel() {
        control::JobOptions options = in_pairs(Policy::partial_reduce);
        options.weights = control::Weights::dynamic;
        options.missing = control::Missing::initial;
        begin(options);
        listen();
    }
    void broadcast_eights() {
        const std::vector<std::pair<WorkerPtr, BufferPtr>> all{
            {other_worker_, other_buffer_}, {worker_, buffer_}, {second_, second_buffer_}};
        for (const auto& [worker, buffer] : all) {
            std::ranges::fill(floats(*buffer), 8.0F);
            Request called = request(Verb::broadcast, buffer, 0);
            called.digest = digest_of(called.buffers);
            submit(worker, std::move(called));
        }
        ASSERT_TRUE(job_->state().initial.valid && other_job_->state().initial.valid);
    }
    static control::GroupOrder weighing_initial(control::GroupOrder order) {
        for (control::Part& part : order.members) part.weight = 0.25;
        order.initial_weight = 0.5;
        return order;
    }
};

TEST_F(WithInitialModel, GroupsWeighItOnce) {
    broadcast_eights();
    std::ranges::fill(floats(*buffer_), 12.0F);
    std::ranges::fill(floats(*other_buffer_), 4.0F);
    const uint64_t id = average(worker_, buffer_);
    average(other_worker_, other_buffer_);
    give_both(weighing_initial(order_of(5, {other_worker_, worker_})));
    ASSERT_TRUE(is_done(id));
    EXPECT_EQ(ending(id).initial_weight, 0.5);
    EXPECT_TRUE(holds(buffer_, 8)) << floats(*buffer_).front();
    EXPECT_TRUE(holds(other_buffer_, 8));
}

TEST_F(WithInitialModel, AGroupOfOneWeighsIt) {
    broadcast_eights();
    std::ranges::fill(floats(*buffer_), 12.0F);
    const uint64_t id = average(worker_, buffer_);
    control::GroupOrder order = weighing_initial(order_of(5, {worker_}));
    order.members[0].weight = 0.5;
    give(order);
    ASSERT_TRUE(is_done(id));
    EXPECT_TRUE(holds(buffer_, 10)) << floats(*buffer_).front();
}

TEST_F(WithInitialModel, ItsLackEndsTheCallsOfAGroupThatWeighsIt) {
    const uint64_t first = average(worker_, buffer_);
    const uint64_t second = average(second_, second_buffer_);
    ours.take<control::Ready>();
    give(weighing_initial(order_of(5, {worker_, second_})));
    for (const uint64_t id : {first, second}) {
        ASSERT_TRUE(has_ended(id));
        EXPECT_EQ(ending(id).outcome, Outcome::failed);
        EXPECT_EQ(ending(id).kind, base::ErrorKind::invalid);
        EXPECT_NE(ending(id).message.find("call pace_broadcast"), std::string::npos);
    }
    const auto done = ours.take<control::GroupDone>();
    ASSERT_EQ(done.size(), 1U);
    EXPECT_TRUE(done[0].failed);
    EXPECT_TRUE(ours.take<control::Ready>().empty());
    EXPECT_TRUE(holds(buffer_, 3) && holds(second_buffer_, 5));
}

}  // namespace
}  // namespace pace::daemon
