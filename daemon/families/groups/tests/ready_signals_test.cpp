// What the controller hears of workers that wait for a group, or will.
#include "daemon/families/groups/ready_signals.h"

#include <chrono>

#include "daemon/members/node_fixture.h"

namespace pace::daemon {
namespace {

using control::ReadyStage;
using std::chrono::milliseconds;

class ReadySignalsTest : public NodeFixture {
  protected:
    static control::Ready ready(ReadyStage stage) { return {kJob, 1, 5, kDigest, stage}; }

    const WorkerPtr worker_ = add_worker(1);
    ReadySignals signals_{job_};
};

TEST_F(ReadySignalsTest, SayWhatTheWorkerHasCalled) {
    has_called(*worker_, 5);
    signals_.send(*worker_, ReadyStage::arrived);
    EXPECT_EQ(controller_.take<control::Ready>(), std::vector{ready(ReadyStage::arrived)});
}

TEST_F(ReadySignalsTest, SayWhatTheWorkerWillCall) {
    has_announced(*worker_, 5);
    signals_.announce(*worker_);
    EXPECT_EQ(controller_.take<control::Ready>(), std::vector{ready(ReadyStage::announced)});
    signals_.take_back(*worker_);
    EXPECT_EQ(controller_.take<control::Withdraw>(),
              (std::vector{control::Withdraw{.job = kJob, .rank = 1, .unanswered = true}}));
}

TEST_F(ReadySignalsTest, SayNothingOfAWorkerThatIsBehindWithItsBuffers) {
    has_called(*worker_, 5);
    worker_->lagging = true;
    signals_.send(*worker_, ReadyStage::called);
    EXPECT_TRUE(controller_.take<control::Ready>().empty());
}

// The controller may have forgotten the withdrawal with the signal.
TEST_F(ReadySignalsTest, AreWithdrawnAgainIfTheyAreSentAgain) {
    has_called(*worker_, 5);
    signals_.withdraw(*worker_);
    EXPECT_EQ(controller_.take<control::Withdraw>().size(), 1U);
    signals_.send(*worker_, ReadyStage::called);
    EXPECT_EQ(controller_.take<control::Withdraw>().size(), 1U);
}

TEST_F(ReadySignalsTest, AreSentAfterAPauseIfAConnectionIsCut) {
    has_called(*worker_, 5);
    signals_.send_later(worker_);
    pass(milliseconds(299));
    EXPECT_TRUE(controller_.take<control::Ready>().empty());
    pass(milliseconds(1));
    EXPECT_EQ(controller_.take<control::Ready>(), std::vector{ready(ReadyStage::called)});
}

TEST_F(ReadySignalsTest, AreNotSentAfterThePauseIfTheCallOrItsTrainerIsGone) {
    has_called(*worker_, 5);
    signals_.send_later(worker_);
    worker_->state = Worker::State::moving;
    pass(milliseconds(300));
    worker_->state = Worker::State::ready;
    signals_.send_later(worker_);
    worker_->port = nullptr;
    pass(milliseconds(300));
    EXPECT_TRUE(controller_.take<control::Ready>().empty());
}

}  // namespace
}  // namespace pace::daemon
