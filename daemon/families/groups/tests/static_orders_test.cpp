// Static groups of the workers on one node: when they begin, and what is reported.
#include "daemon/families/groups/static_orders.h"

#include "daemon/members/node_fixture.h"

namespace pace::daemon {
namespace {

// Workers 0 and 1 are here and meet in turns 1 and 3. Nobody else is in the job.
class StaticOrdersTest : public NodeFixture {
  protected:
    StaticOrdersTest() { begin_view(1); }

    void begin_view(uint64_t epoch) {
        job_.view.epoch = epoch;
        job_.view.members = {{0, kSelf, 0, 0}, {1, kSelf, 0, 0}};
        orders_.begin_view();
        for (const WorkerPtr& worker : {first_, second_}) worker->turn = 1;
    }
    BufferPtr call(const WorkerPtr& worker, float value, uint64_t count = 4) {
        BufferPtr buffer = has_called(*worker, worker->rank + 10, value, count);
        orders_.called(*worker);
        settle();
        return buffer;
    }
    std::vector<control::GroupReport> reports() {
        std::vector<control::GroupReport> reports;
        orders_.report(reports);
        return reports;
    }

    const WorkerPtr first_ = add_worker(0);
    const WorkerPtr second_ = add_worker(1);
    RunningGroups running_{job_};
    StaticOrders orders_{job_, running_};
};

TEST_F(StaticOrdersTest, BeginWhenAllMembersHereHaveCalled) {
    const BufferPtr first = call(first_, 3);
    EXPECT_FALSE(is_done(0));
    EXPECT_EQ(first_->state, Worker::State::ready);
    EXPECT_EQ(orders_.awaited(*first_), JobState::not_called({1}));
    const BufferPtr second = call(second_, 5);
    EXPECT_TRUE(is_done(0) && is_done(1));
    EXPECT_EQ(values(*first)[0], 4);
    EXPECT_EQ(values(*second)[3], 4);
    EXPECT_EQ(trainer_.endings.at(0).iteration, 11U) << "the newest of both";
    EXPECT_EQ(first_->turn, 2U);
    EXPECT_TRUE(running_.empty());
}

TEST_F(StaticOrdersTest, DoNotBeginBeforeTheNextViewOnceTheyPause) {
    orders_.pause();
    call(first_, 3);
    call(second_, 5);
    EXPECT_FALSE(is_done(0) || is_done(1));
    EXPECT_EQ(orders_.awaited(*first_), "the job's membership to have changed");
    begin_view(2);
    orders_.caught_up(*first_);
    settle();
    EXPECT_TRUE(is_done(0));
}

TEST_F(StaticOrdersTest, WaitForAMemberThatIsBehindWithItsBuffers) {
    call(first_, 3);
    has_called(*second_, 11, 5);
    second_->queue.front().ready = 1;
    orders_.called(*second_);
    EXPECT_TRUE(second_->lagging);
    EXPECT_FALSE(is_done(0));
    second_->queue.front().ready = 4;
    second_->lagging = false;
    orders_.caught_up(*second_);
    settle();
    EXPECT_TRUE(is_done(0) && is_done(1));
}

TEST_F(StaticOrdersTest, OfUnlikeCallsEndThemAsMismatches) {
    call(first_, 3);
    call(second_, 5, 8);
    for (const control::Rank rank : {0U, 1U}) {
        ASSERT_TRUE(trainer_.endings.contains(rank));
        EXPECT_EQ(trainer_.endings.at(rank).kind, base::ErrorKind::mismatch);
    }
    EXPECT_TRUE(reports().empty());
}

TEST_F(StaticOrdersTest, AreReportedOnceWhenTheyHaveEnded) {
    call(first_, 3);
    EXPECT_TRUE(reports().empty());
    call(second_, 5);
    const auto told = reports();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told.front().members, (std::vector<control::Rank>{0, 1}));
    EXPECT_EQ(told.front().job, kJob);
    EXPECT_TRUE(reports().empty());
}

// Members may have met over a view that has ended since. Then the next view has them already.
TEST_F(StaticOrdersTest, ThatFailAskForAnotherViewUnlessThereIsOne) {
    ExchangeOutcome late;
    late.result = base::make_error(base::ErrorKind::timeout, "late");
    late.plan = std::make_shared<ExchangePlan>();
    for (const uint64_t epoch : {1U, 2U}) {
        begin_view(epoch);
        has_called(*first_, 3);
        first_->turn_epoch = 1;
        job_.wants_view = false;
        Group group;
        group.members = {first_};
        orders_.try_again(group, late);
        EXPECT_EQ(job_.wants_view, epoch == 1);
        EXPECT_EQ(first_->state, Worker::State::ready);
        first_->queue.clear();
        first_->state = Worker::State::idle;
    }
}

}  // namespace
}  // namespace pace::daemon
