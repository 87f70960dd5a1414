// Core adoptions: newcomers, and whose model they are given.
#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

class CoreAdoptionsTest : public ::testing::Test, public CoreFixture {};

TEST_F(CoreAdoptionsTest, TakeInANewcomerOnlyWhenItIsAdmittedAndGiveItTheModel) {
    const auto nodes = start(reducing(3));
    send(from(nodes[2], WorkerLeave{1, 2, false}));
    clear();
    join(nodes[2], 2, reducing(3));
    EXPECT_TRUE(take<PrepareView>().empty());
    complete_rounds(40);
    send(from(nodes[2], WorkerAdmit{1, 2, true}));
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    ASSERT_EQ(views[0].to.size(), 3U);
    ASSERT_EQ(views[0].members.size(), 3U);
    EXPECT_EQ(views[0].members[2].rank, 2U);
    EXPECT_EQ(views[0].adoptions, (std::vector<Adoption>{{2, 0}}));
}

TEST_F(CoreAdoptionsTest, PreferADonorOnTheNewcomersNode) {
    const auto nodes = start(reducing(6), 2);
    send(from(nodes[2], WorkerLeave{1, 4, false}));
    join(nodes[1], 4, reducing(6));
    clear();
    send(from(nodes[1], WorkerAdmit{1, 4, true}));
    EXPECT_EQ(take<CommitView>()[0].adoptions, (std::vector<Adoption>{{4, 2}}));
}

// Its trainer continued with a reduce after its daemon was restarted.
TEST_F(CoreAdoptionsTest, NameNoDonorThatHasNotAskedForAModelItself) {
    const auto nodes = start(reducing(6), 2);
    for (const Rank rank : {4U, 5U}) send(from(nodes[2], WorkerLeave{1, rank, false}));
    for (const Rank rank : {4U, 5U}) join(nodes[2], rank, reducing(6));
    send(from(nodes[2], WorkerAdmit{1, 4, false}));
    without_model(nodes[2], {4, 5});
    clear();
    send(from(nodes[2], WorkerAdmit{1, 5, true}));
    EXPECT_EQ(take<CommitView>()[0].adoptions, (std::vector<Adoption>{{5, 0}}));
}

TEST_F(CoreAdoptionsTest, ListNoAdoptionWhenNobodyHasTheModel) {
    const auto nodes = start(reducing(2));
    send(from(nodes[0], WorkerLeave{1, 0, false}));
    send(from(nodes[1], WorkerLeave{1, 1, false}));
    come_back(nodes[0], 0, reducing(2));
    clear();
    send(from(nodes[0], WorkerAdmit{1, 0, true}));
    auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    ASSERT_EQ(views[0].to.size(), 1U);
    EXPECT_TRUE(views[0].adoptions.empty());
    // The next one finds the first.
    join(nodes[1], 1, reducing(2));
    clear();
    send(from(nodes[1], WorkerAdmit{1, 1, true}));
    views = take<CommitView>();
    EXPECT_EQ(views[0].adoptions, (std::vector<Adoption>{{1, 0}}));
}

TEST_F(CoreAdoptionsTest, NameAnotherDonorWhenOneIsLostBeforeTheAdoptionEnded) {
    const auto nodes = start(reducing(4));
    send(from(nodes[3], WorkerLeave{1, 3, false}));
    join(nodes[3], 3, reducing(4));
    without_model(nodes[3], {3});
    send(from(nodes[3], WorkerAdmit{1, 3, true}));
    clear();
    // A change that keeps the donor repeats the adoption, since the change has stopped the
    // transfer.
    send(from(nodes[2], WorkerLeave{1, 2, true}));
    EXPECT_EQ(take<CommitView>()[0].adoptions, (std::vector<Adoption>{{3, 0}}));
    send(NodeLost{nodes[0], "test"});
    EXPECT_EQ(take<CommitView>()[0].adoptions, (std::vector<Adoption>{{3, 1}}));
}

// No heartbeat has said yet that rank 2 has its model. All who had one before are lost.
TEST_F(CoreAdoptionsTest, NameADonorThatHasJustBeenGivenTheModelItself) {
    const auto nodes = start(reducing(4));
    for (const Rank rank : {2U, 3U}) send(from(nodes[rank], WorkerLeave{1, rank, false}));
    join(nodes[2], 2, reducing(4));
    send(from(nodes[3], WorkerJoin{103, 3, reducing(4), 1000, false, 176, 0, 0}));
    for (const Rank rank : {2U, 3U}) {
        without_model(nodes[rank], {rank});
        send(from(nodes[rank], WorkerAdmit{1, rank, true}));
    }
    without_model(nodes[2], {});
    send(from(nodes[0], WorkerLeave{1, 0, true}));
    clear();
    send(from(nodes[1], WorkerLeave{1, 1, true}));
    EXPECT_EQ(take<CommitView>()[0].adoptions, (std::vector<Adoption>{{3, 2}}));
}

TEST_F(CoreAdoptionsTest, DoNotRepeatAnAdoptionThatHasEnded) {
    const auto nodes = start(reducing(4));
    send(from(nodes[3], WorkerLeave{1, 3, false}));
    join(nodes[3], 3, reducing(4));
    send(from(nodes[3], WorkerAdmit{1, 3, true}));
    send(
        from(nodes[3], Heartbeat{{{1, 3, 1, 1, 5, false}}}));  // it computes: its request has ended
    clear();
    send(NodeLost{nodes[0], "test"});
    EXPECT_TRUE(take<CommitView>()[0].adoptions.empty());
}

}  // namespace
}  // namespace pace::controller
