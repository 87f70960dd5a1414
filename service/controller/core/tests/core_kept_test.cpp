// Core kept: which data of jobs nodes keep, and when they are told that it is not needed.
#include <algorithm>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

class CoreKeptTest : public ::testing::Test, protected CoreFixture {
  protected:
    std::vector<NodeId> started(const JobOptions& options) {
        auto nodes = start(options);
        token_ = sent<JoinAccepted>()[0].token;
        clear();
        return nodes;
    }
    void keeps(NodeId node) { send(from(node, JobKept{1, token_, false, false})); }
    bool was_told_of_its_part(NodeId node) {
        const auto told = take<PartEnded>();
        return std::any_of(told.begin(), told.end(), [&](const auto& one) {
            return one.to.front() == node && one.job == 1 && one.token == token_;
        });
    }
    bool was_told_of_the_end(NodeId node) {
        const auto told = take<JobEnded>();
        return std::any_of(told.begin(), told.end(), [&](const auto& one) {
            return std::count(one.to.begin(), one.to.end(), node) == 1 && one.job == 1 &&
                   one.token == token_;
        });
    }

    uint64_t token_ = 0;
};

TEST_F(CoreKeptTest, WhenAJobEndsEveryNodeHearsOfItThatHasHadAWorker) {
    const auto nodes = started(reducing(3));
    // Node 3 keeps data of the dead process of rank 2.
    send(from(nodes[2], WorkerLeave{1, 2, false}));
    come_back(nodes[0], 2, reducing(3));
    for (const Rank rank : {0U, 1U, 2U}) send(from(nodes[rank % 2], WorkerLeave{1, rank, true}));
    const auto ended = take<JobEnded>();
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].to, nodes);
    EXPECT_EQ(ended[0].token, token_);
}

TEST_F(CoreKeptTest, ANodeThatWasAwayHearsOfTheEndWhenItAsks) {
    const auto nodes = started(reducing(2));
    send(from(nodes[0], WorkerLeave{1, 0, true}));
    send(NodeLost{nodes[1], "gone"});
    send(from(nodes[0], JobDelete{7, "job", 1000}));
    clear();
    ASSERT_EQ(attach("node1", nodes[1]), nodes[1]);
    keeps(nodes[1]);
    EXPECT_TRUE(was_told_of_the_end(nodes[1]));
    // The same holds for a controller that has read the end in its journal.
    restart();
    replay_journal();
    ASSERT_EQ(attach("node1", nodes[1]), nodes[1]);
    keeps(nodes[1]);
    EXPECT_TRUE(was_told_of_the_end(nodes[1]));
}

TEST_F(CoreKeptTest, ANodeIsNeededUntilAViewGoesOnWithoutIt) {
    const auto nodes = started(reducing(3));
    keeps(nodes[2]);
    EXPECT_FALSE(was_told_of_its_part(nodes[2])) << "it has a worker";
    answer_views(false);
    send(from(nodes[2], WorkerLeave{1, 2, true}));
    keeps(nodes[2]);
    EXPECT_TRUE(sent<PartEnded>().empty()) << "it may be the only one to have the last result";
    for (const auto& prepare : take<PrepareView>())
        send(from(prepare.to.front(), ViewPrepared{1, prepare.epoch, 0, 0, 0, {}}));
    ASSERT_EQ(take<CommitView>().size(), 1U);
    keeps(nodes[2]);
    EXPECT_TRUE(was_told_of_its_part(nodes[2]));
    keeps(nodes[0]);
    EXPECT_FALSE(was_told_of_its_part(nodes[0]));
}

// Nobody is in the view any more, but workers that were may come back.
TEST_F(CoreKeptTest, NoNodeIsNeededByAJobWhoseWorkersHaveDied) {
    const auto nodes = started(reducing(2));
    for (const Rank rank : {0U, 1U}) send(from(nodes[rank], WorkerLeave{1, rank, false}));
    EXPECT_TRUE(take<JobEnded>().empty());
    keeps(nodes[1]);
    EXPECT_TRUE(was_told_of_its_part(nodes[1]));
}

TEST_F(CoreKeptTest, WhatIsOwedIsNeededUntilItHasAnHeir) {
    JobOptions options = reducing(2);
    options.compression = Compression::spardl;
    const auto nodes = started(options);
    for (const Rank rank : {0U, 1U}) send(from(nodes[rank], WorkerLeave{1, rank, false}));
    send(from(nodes[1], JobKept{1, token_, false, true}));
    EXPECT_FALSE(was_told_of_its_part(nodes[1]));
    come_back(nodes[0], 0, options);
    send(from(nodes[0], WorkerAdmit{1, 0, true}));
    const auto views = sent<CommitView>();
    ASSERT_FALSE(views.empty());
    EXPECT_EQ(views.back().leavers, (std::vector<NodeId>{nodes[1]}));
    keeps(nodes[1]);
    EXPECT_TRUE(was_told_of_its_part(nodes[1]));
}

// The controller may have lost its journal, and hear of the job's workers soon.
TEST_F(CoreKeptTest, AControllerThatKnowsNothingOfAJobTakesItForNoneOnlyAfterAWhile) {
    const auto nodes = started(reducing(2));
    restart();
    replay_journal(0);
    const NodeId node = attach("node1", nodes[1]);
    keeps(node);
    EXPECT_FALSE(was_told_of_the_end(node));
    pass_hearing(CoreOptions{}.abandoned_keep, {node});
    keeps(node);
    EXPECT_TRUE(was_told_of_the_end(node));
}

}  // namespace
}  // namespace pace::controller
