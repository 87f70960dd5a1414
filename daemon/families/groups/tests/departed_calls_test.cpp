// Calls that an order may name although their trainers are gone.
#include "daemon/families/groups/departed_calls.h"

#include <chrono>

#include "daemon/members/node_fixture.h"

namespace pace::daemon {
namespace {

using std::chrono::milliseconds;

class DepartedCallsTest : public NodeFixture {
  protected:
    // Worker 1 calls, and its trainer is gone before the order has come.
    WorkerPtr departed() {
        const WorkerPtr worker = add_worker(1);
        has_called(*worker, 5);
        worker->port = nullptr;
        job_.workers.clear();
        calls_.keep(worker);
        return worker;
    }
    WorkerPtr claim(uint64_t iteration = 5, uint32_t digest = kDigest) {
        return calls_.claim({.rank = 1, .node = kSelf, .iteration = iteration}, digest);
    }

    DepartedCalls calls_{job_};
};

TEST_F(DepartedCallsTest, AreClaimedOnce) {
    const WorkerPtr worker = departed();
    EXPECT_EQ(claim(), worker);
    EXPECT_EQ(claim(), nullptr);
}

TEST_F(DepartedCallsTest, AreClaimedAsTheyWereCalled) {
    const WorkerPtr worker = departed();
    EXPECT_EQ(claim(6), nullptr);
    EXPECT_EQ(claim(5, kDigest + 1), nullptr);
    EXPECT_EQ(claim(), worker);
}

TEST_F(DepartedCallsTest, ComeAfterTheCallsOfWorkersThatAreThere) {
    departed();
    const WorkerPtr successor = add_worker(1);
    has_called(*successor, 5);
    EXPECT_EQ(claim(), successor);
    EXPECT_EQ(claim(), successor) << "the worker stays where it is";
}

TEST_F(DepartedCallsTest, AreKeptForTwoSeconds) {
    const std::weak_ptr<Worker> worker = departed();
    pass(milliseconds(1999));
    EXPECT_FALSE(worker.expired());
    pass(milliseconds(1));
    EXPECT_TRUE(worker.expired());
    EXPECT_EQ(claim(), nullptr);
}

}  // namespace
}  // namespace pace::daemon
