// A broadcast whose root is no member of the job: the call ends, and the job can still get its
// first model from that root.
#include <string>

#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Quorum;
using protocol::Verb;

constexpr uint64_t kModelElements = 100;

// The worker of the other node is the root.
class AbsentRoot : public TwoNodes, public testing::WithParamInterface<Quorum> {
  protected:
    AbsentRoot() {
        control::JobOptions options = in_pairs(control::Policy::all_reduce);
        options.quorum = GetParam();
        open(options);
        listen();
    }
    // This view has our worker alone.
    void commit_without_root(uint64_t epoch) {
        prepare(epoch);
        ASSERT_TRUE(until([&] { return !job_->is_exchanging(); }));
        control::CommitView view;
        view.epoch = epoch;
        view.members = {{kOurs, kSelf, 0, 0}};
        view.base_round = job_->rounds().completed();
        view.donor = kSelf;
        job_->commit(view);
    }
    void commit_with_root_as_newcomer(uint64_t epoch) {
        prepare(epoch);
        ASSERT_TRUE(until([&] { return !job_->is_exchanging(); }));
        control::CommitView view;
        view.epoch = epoch;
        view.members = {{kTheirs, kOther, 0, 0}, {kOurs, kSelf, 0, 0}};
        view.base_round = job_->rounds().completed();
        view.donor = kSelf;
        view.adoptions = {{.newcomer = kTheirs, .donor = control::kNoRank}};
        job_->commit(view);
        other_job_->commit(view);
    }
    // Calls as if so long ago.
    uint64_t broadcast(base::Duration ago, control::Rank root = kTheirs) {
        Request called = request(Verb::broadcast, buffer_, 1);
        called.digest = digest_of(called.buffers);
        called.root = root;
        called.submitted_ns =
            base::now_ns() - static_cast<uint64_t>(std::chrono::nanoseconds(ago).count());
        const uint64_t id = called.id;
        job_->submit(worker_, std::move(called));
        return id;
    }
    uint64_t broadcast() { return broadcast(2 * kRootWait); }
    uint64_t broadcast_there() { return call_there(Verb::broadcast, other_buffer_); }
    void expect_refused(uint64_t id) {
        ASSERT_TRUE(until([&] { return port_.ended(id); }));
        const Ending& ending = port_.endings.at(id);
        EXPECT_EQ(ending.outcome, Outcome::failed);
        EXPECT_EQ(ending.kind, base::ErrorKind::invalid);
        EXPECT_NE(ending.message.find("root 0 is not a member"), std::string::npos)
            << ending.message;
        EXPECT_EQ(floats(*buffer_).front(), 3) << "the buffer is as it was";
    }
    void expect_done(uint64_t ours, uint64_t theirs) {
        ASSERT_TRUE(until([&] { return port_.ended(ours) && other_port_.ended(theirs); }));
        EXPECT_EQ(port_.endings.at(ours).outcome, Outcome::done) << port_.endings.at(ours).message;
        EXPECT_EQ(other_port_.endings.at(theirs).outcome, Outcome::done);
        EXPECT_EQ(floats(*buffer_).back(), 5) << "the root's model";
        EXPECT_EQ(job_->rounds().completed(), other_job_->rounds().completed());
    }

    const BufferPtr buffer_ = buffer_of(kModelElements, 3);
    const BufferPtr other_buffer_ = buffer_of(kModelElements, 5);
};

// A root that comes back would otherwise be taken for a worker that lacks a round.
TEST_P(AbsentRoot, EndsTheCallAndNoRound) {
    commit_without_root(1);
    expect_refused(broadcast());
    expect_refused(broadcast());
    EXPECT_EQ(job_->rounds().completed(), 0U);
}

TEST_P(AbsentRoot, ThatComesBackGivesTheJobItsFirstModel) {
    commit_without_root(1);
    expect_refused(broadcast());
    other_worker_->newcomer = true;
    const uint64_t theirs = broadcast_there();
    commit_with_root_as_newcomer(2);
    expect_done(broadcast(), theirs);
}

TEST_P(AbsentRoot, ThatIsLostDuringTheCallEndsIt) {
    commit(1);
    const uint64_t id = broadcast();
    turn();
    EXPECT_FALSE(port_.ended(id));
    commit_without_root(2);
    expect_refused(id);
    EXPECT_EQ(job_->rounds().completed(), 0U);
}

TEST_P(AbsentRoot, OfTheFirstBroadcastIsAwaitedForAWhile) {
    commit_without_root(1);
    const uint64_t id = broadcast(base::Duration{});
    turn();
    ASSERT_FALSE(port_.ended(id));
    const auto waits = job_->waits(base::now_ns(), {});
    ASSERT_EQ(waits.size(), 1U);
    EXPECT_EQ(waits[0].what, "worker 0 to come back, the root of this pace_broadcast");
    other_worker_->newcomer = true;
    const uint64_t theirs = broadcast_there();
    commit_with_root_as_newcomer(2);
    expect_done(id, theirs);
}

// No call, view or message comes any more.
TEST_P(AbsentRoot, IsAwaitedNoLongerThanThat) {
    commit_without_root(1);
    const uint64_t id = broadcast(kRootWait - std::chrono::milliseconds(50));
    turn();
    EXPECT_FALSE(port_.ended(id));
    expect_refused(id);
}

TEST_P(AbsentRoot, IsNotAwaitedOnceThereIsAModel) {
    commit(1);
    const uint64_t theirs = broadcast_there();
    expect_done(broadcast(), theirs);
    std::ranges::fill(floats(*buffer_), 3);
    commit_without_root(2);
    expect_refused(broadcast(base::Duration{}));
}

TEST_P(AbsentRoot, IsAwaitedByACallThatCanBeCanceled) {
    commit_without_root(1);
    const uint64_t id = broadcast(base::Duration{});
    job_->cancel(worker_, id);
    ASSERT_TRUE(port_.ended(id));
    EXPECT_EQ(outcome_of(id), Outcome::canceled);
}

// The other node waits for this one, whose worker has named another root.
TEST_P(AbsentRoot, OfOneNodesCallLeavesTheNodesAtTheSameRound) {
    commit(1);
    const uint64_t theirs = broadcast_there();
    const uint64_t refused = broadcast(2 * kRootWait, 7);
    ASSERT_TRUE(until([&] { return port_.ended(refused); }));
    EXPECT_EQ(outcome_of(refused), Outcome::failed);
    expect_done(broadcast(), theirs);
}

INSTANTIATE_TEST_SUITE_P(Quorums, AbsentRoot, testing::Values(Quorum::all, Quorum::solo),
                         [](const auto& quorum) {
                             return std::string(quorum.param == Quorum::all ? "all" : "solo");
                         });

}  // namespace
}  // namespace pace::daemon
