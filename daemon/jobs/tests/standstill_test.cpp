// A node that stood still, so that the cluster may have gone on without it: it takes no round's
// result before it knows.
#include <functional>
#include <string>

#include "daemon/jobs/tests/two_nodes_fixture.h"

namespace pace::daemon {
namespace {

using protocol::Outcome;
using protocol::Verb;

struct Round {
    const char* name;
    Verb verb = Verb::reduce;
    std::function<void(control::JobOptions&)> tune = [](control::JobOptions&) {};
};

void by_spardl(control::JobOptions& options) {
    options.compression = control::Compression::spardl;
    options.density = 0.05;
    options.teams = 1;
    options.residuals = control::Residuals::global;
    options.dense_fallback = control::DenseFallback::never;
}

// Both nodes' workers have called. Each node has all that it needs.
class Standstill : public TwoNodes, public testing::WithParamInterface<Round> {
  protected:
    void SetUp() override {
        control::JobOptions options;
        options.policy = control::Policy::all_reduce;
        GetParam().tune(options);
        open(options);
        commit(1);
        be_in_doubt();
        ours_ = call(GetParam().verb, buffer_);
        theirs_ = call_there(GetParam().verb, other_buffer_);
        listen();
        ASSERT_TRUE(until([this] { return other_port_.ended(theirs_); }));
        while (network_.progress()) loop_->turn(false);
        for (int i = 0; i < 10; ++i) loop_->turn(false);
    }
    bool is_as_it_was() const {
        return std::ranges::all_of(floats(*buffer_), [](float value) { return value == 3; });
    }
    void has_their_result() {
        ASSERT_TRUE(until([this] { return port_.ended(ours_); }));
        EXPECT_EQ(outcome_of(ours_), Outcome::done);
        const Ending& ours = port_.endings.at(ours_);
        const Ending& theirs = other_port_.endings.at(theirs_);
        EXPECT_EQ(ours.group, theirs.group);
        EXPECT_EQ(ours.nodes, 2U);
        ASSERT_NE(ours.members, nullptr);
        EXPECT_EQ(ours.members->size(), 2U);
        EXPECT_EQ(ours.divisor, theirs.divisor);
        EXPECT_EQ(ours.contributors, theirs.contributors);
        EXPECT_EQ(ours.entries, theirs.entries);
        EXPECT_EQ(ours.dense, theirs.dense);
        if (GetParam().verb == Verb::barrier) return;
        EXPECT_TRUE(std::ranges::equal(floats(*buffer_), floats(*other_buffer_)));
    }

    const BufferPtr buffer_ = buffer_of(1000, 3);
    const BufferPtr other_buffer_ = buffer_of(1000, 5);
    uint64_t ours_ = 0;
    uint64_t theirs_ = 0;
};

TEST_P(Standstill, HasNoResultBeforeTheControllerHasSpoken) {
    EXPECT_FALSE(port_.ended(ours_));
    EXPECT_TRUE(is_as_it_was());
    EXPECT_EQ(job_->rounds().completed(), 0U);
    be_sure();
    has_their_result();
}

TEST_P(Standstill, HasNoResultIfItWasGivenUp) {
    job_->invalidate(base::make_error(base::ErrorKind::aborted, "it was silent"));
    ASSERT_TRUE(until([this] { return !job_->rounds().is_exchanging(); }));
    be_sure();
    EXPECT_FALSE(port_.ended(ours_)) << "its place is asked for anew";
    EXPECT_TRUE(is_as_it_was());
    EXPECT_EQ(job_->rounds().completed(), 0U);
}

TEST_P(Standstill, GetsTheResultThatOthersHaveInTheNextView) {
    prepare(2);
    other_job_->prepare({.job = 0, .epoch = 2, .token = kToken});
    ASSERT_TRUE(until([this] { return !job_->rounds().is_exchanging(); }));
    EXPECT_FALSE(port_.ended(ours_));
    EXPECT_TRUE(is_as_it_was());
    commit(2, {kSelf});
    has_their_result();
    be_sure();
}

// The round was the job's last: the node that has its result leaves, and gives the result from
// outside of the view.
TEST_P(Standstill, IsToldOfTheRoundAsItWasThoughTheOthersHaveLeft) {
    prepare(2);
    other_job_->remove(other_worker_);
    other_job_->prepare({.job = 0, .epoch = 2, .token = kToken});
    ASSERT_TRUE(until([this] { return !job_->rounds().is_exchanging(); }));
    control::CommitView view;
    view.epoch = 2;
    view.base_round = 1;
    view.donor = kOther;
    view.behind = {kSelf};
    view.leavers = {kOther};
    view.members = {{kOurs, kSelf, 0, 0}};
    for (Job* job : {&*job_, &*other_job_}) job->commit(view);
    has_their_result();
    const Ending& ours = port_.endings.at(ours_);
    EXPECT_EQ(ours.entries > 0, job_->state().options.compression == control::Compression::spardl);
    if (GetParam().verb == Verb::reduce) {
        EXPECT_GT(ours.bytes_sent, 0U);
        EXPECT_GT(ours.bytes_received, 0U);
    }
    be_sure();
}

TEST_P(Standstill, EndsWithoutWaitingForAnAnswerThatDoesNotCome) {
    job_.reset();
    for (int i = 0; i < 10; ++i) loop_->turn(false);
    EXPECT_FALSE(services_.active.any());
}

INSTANTIATE_TEST_SUITE_P(
    All, Standstill,
    testing::Values(Round{"AllReduce"}, Round{"Broadcast", Verb::broadcast},
                    Round{"Barrier", Verb::barrier},
                    Round{"Sync", Verb::sync,
                          [](auto& options) { options.policy = control::Policy::partial_reduce; }},
                    Round{"Halves", Verb::reduce,
                          [](auto& options) { options.compression = control::Compression::f16; }},
                    Round{"SparDL", Verb::reduce, by_spardl},
                    Round{"Quorum", Verb::reduce,
                          [](auto& options) {
                              options.quorum = control::Quorum::count;
                              options.quorum_count = 2;
                          }}),
    [](const auto& round) { return std::string(round.param.name); });

}  // namespace
}  // namespace pace::daemon
