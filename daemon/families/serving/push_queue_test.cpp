// Pushes that wait until their worker has room for another update.
#include "daemon/families/serving/push_queue.h"

#include <string>
#include <vector>

#include "daemon/members/node_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;

// Worker 1 is here, and so is the only shard of the model.
class PushQueueTest : public NodeFixture, private PushQueue::Owner {
  protected:
    PushQueueTest() {
        job_.options.elements = 4;
        job_.view.members = {{1, kSelf, 0, 0}};
    }

    void begin_view() {
        job_.view.epoch = 1;
        control::CommitView view;
        view.shards = {kSelf};
        view.generation = 3;
        view.model_begins = true;
        ASSERT_TRUE(host_.commit(view, kSelf));
        queue_.go_on(worker_);
    }
    void push(uint64_t step) { queue_.add(worker_, request_of(protocol::Verb::push, step, step)); }
    void push_up_to(uint64_t steps) {
        for (uint64_t step = 0; step < steps; ++step) push(step);
    }
    std::vector<std::string> waits() const {
        std::vector<std::string> waits;
        queue_.for_each(
            1, [&](const Request& /*request*/, const std::string& what) { waits.push_back(what); });
        return waits;
    }
    size_t ended_as(Outcome outcome) const {
        return static_cast<size_t>(std::ranges::count(outcomes_, outcome));
    }

    const WorkerPtr worker_ = add_worker(1);
    ShardHost host_{4, false, job_.payer(), {}};
    ServerMail mail_{services_, 4, job_.payer(), {}, {}, {}};
    Standings standings_{job_, host_};
    Pushes pushes_{job_, host_, mail_};
    PushQueue queue_{job_, standings_, pushes_, *this};
    std::vector<Outcome> outcomes_;

  private:
    void push_ended(const WorkerPtr& /*worker*/, const Request& /*request*/,
                    const Ending& ending) override {
        outcomes_.push_back(ending.outcome);
    }
};

TEST_F(PushQueueTest, TakesNothingBeforeThereIsAView) {
    push(0);
    EXPECT_TRUE(outcomes_.empty());
    EXPECT_EQ(waits(), std::vector<std::string>{"a view of the job in which nodes keep its model"});
    begin_view();
    EXPECT_EQ(outcomes_, std::vector{Outcome::done});
    EXPECT_TRUE(waits().empty());
    EXPECT_EQ(worker_->calls, 1U);
}

TEST_F(PushQueueTest, TakesAsManyUpdatesAsAreLetOnTheirWay) {
    begin_view();
    push_up_to(Pushes::kWindow + 2);
    EXPECT_EQ(ended_as(Outcome::done), Pushes::kWindow);
    EXPECT_EQ(waits().size(), 2U);
    EXPECT_EQ(queue_.next_clock(1), Pushes::kWindow + 2) << "with those that wait";
    EXPECT_EQ(pushes_.next_clock(1), Pushes::kWindow);
}

TEST_F(PushQueueTest, GoesOnWhenAnUpdateIsOrdered) {
    begin_view();
    push_up_to(Pushes::kWindow + 2);
    control::ServerEntry entry;
    entry.step = control::ServerStep::push;
    entry.worker.rank = 1;
    entry.clock = 0;
    pushes_.ordered(entry);
    queue_.go_on(worker_);
    EXPECT_EQ(ended_as(Outcome::done), Pushes::kWindow + 1);
    EXPECT_EQ(waits().size(), 1U);
}

TEST_F(PushQueueTest, CancelsAPushThatWaitsAndNoOther) {
    begin_view();
    push_up_to(Pushes::kWindow + 1);
    const Ending canceled = daemon::ended_as(Outcome::canceled, "canceled");
    EXPECT_FALSE(queue_.cancel(worker_, 0, canceled)) << "it is taken";
    EXPECT_TRUE(queue_.cancel(worker_, Pushes::kWindow, canceled));
    EXPECT_EQ(outcomes_.back(), Outcome::canceled);
    EXPECT_EQ(queue_.next_clock(1), Pushes::kWindow);
}

TEST_F(PushQueueTest, EndsAllThatWait) {
    push_up_to(3);
    queue_.end_all(worker_, daemon::ended_as(Outcome::stale, "the model is lost"));
    EXPECT_EQ(ended_as(Outcome::stale), 3U);
    begin_view();
    EXPECT_EQ(outcomes_.size(), 3U);
    EXPECT_EQ(queue_.next_clock(1), 0U);
}

TEST_F(PushQueueTest, ForgetsAWorkerWithoutEndingItsPushes) {
    push_up_to(3);
    queue_.forget(1);
    begin_view();
    EXPECT_TRUE(outcomes_.empty());
    EXPECT_TRUE(waits().empty());
}

}  // namespace
}  // namespace pace::daemon
