// Core tests of reductions whose journal is lost: workers that have trained, and workers that were
// opened since anybody last took part.
#include <gtest/gtest.h>

#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

constexpr uint64_t kRounds = 91;

class CoreOpenedSinceTest : public ::testing::Test, public CoreFixture {
  protected:
    CoreOpenedSinceTest() { answer_views(false); }

    struct Told {
        NodeId node = 0;
        uint64_t completed = 0;
        std::vector<Rank> without_model;
    };
    // The daemons' answers to the change of the view that began last. Returns the view.
    CommitView answer(const std::vector<Told>& answers) {
        const auto asked = sent<PrepareView>();
        if (asked.empty()) {
            ADD_FAILURE() << "no view changes";
            return {};
        }
        const uint64_t epoch = asked.back().epoch;
        for (const Told& told : answers)
            send(from(told.node, ViewPrepared{.job = 1,
                                              .epoch = epoch,
                                              .completed = told.completed,
                                              .without_model = told.without_model}));
        const auto views = sent<CommitView>();
        if (views.empty() || views.back().epoch != epoch) {
            ADD_FAILURE() << "view " << epoch << " is not there";
            return {};
        }
        return views.back();
    }
    std::vector<Rank> suspended() const {
        std::vector<Rank> ranks;
        for (const auto& told : sent<WorkerSuspended>()) ranks.push_back(told.rank);
        return ranks;
    }
    void ask(NodeId node, Rank rank) { send(from(node, WorkerAdmit{1, rank, true})); }
    // Its daemon was restarted, and it goes on.
    void come_back_trained(NodeId node, Rank rank, const JobOptions& options) {
        resume(node, rank, options, 0);
    }

    const NodeId a_ = attach("a");
    const NodeId b_ = attach("b");
};

std::vector<Rank> ranks_of(const CommitView& view) {
    std::vector<Rank> ranks;
    for (const Member& member : view.members) ranks.push_back(member.rank);
    return ranks;
}

// Node b remembers the rounds of a dead worker, in whose place rank 1 was opened.
TEST_F(CoreOpenedSinceTest, TakeTheModelOfAWorkerThatHasTrained) {
    come_back_trained(a_, 0, reducing(2));
    join(b_, 1, reducing(2));
    EXPECT_EQ(ranks_of(answer({{a_, 0, {0}}, {b_, kRounds, {1}}})), (std::vector<Rank>{1}));
    EXPECT_EQ(suspended(), (std::vector<Rank>{0}));
    clear();
    ask(a_, 0);
    const CommitView view = answer({{a_, 0, {0}}, {b_, kRounds, {1}}});
    EXPECT_TRUE(sent<NoModel>().empty());
    EXPECT_EQ(suspended(), (std::vector<Rank>{1}));
    EXPECT_EQ(ranks_of(view), (std::vector<Rank>{0}));
    EXPECT_TRUE(view.adoptions.empty());
    clear();
    ask(b_, 1);
    EXPECT_EQ(answer({{a_, kRounds, {}}, {b_, kRounds, {1}}}).adoptions,
              (std::vector<Adoption>{{1, 0}}));
}

TEST_F(CoreOpenedSinceTest, BeginTogether) {
    const NodeId c = attach("c");
    come_back_trained(a_, 0, reducing(3));
    join(b_, 1, reducing(3));
    join(c, 2, reducing(3));
    EXPECT_EQ(ranks_of(answer({{a_, 0, {0}}, {b_, kRounds, {1}}, {c, 0, {2}}})),
              (std::vector<Rank>{1}));
    clear();
    ask(c, 2);
    const CommitView view = answer({{b_, kRounds, {1}}, {c, 0, {2}}});
    EXPECT_TRUE(sent<NoModel>().empty());
    EXPECT_EQ(ranks_of(view), (std::vector<Rank>{1, 2}));
    EXPECT_EQ(view.adoptions, (std::vector<Adoption>{{2, kNoRank}}));
    clear();
    // They have gone on, with parameters that nobody can give.
    ask(a_, 0);
    EXPECT_EQ(ranks_of(answer({{a_, 0, {0}}, {b_, kRounds + 1, {1}}, {c, kRounds + 1, {2}}})),
              (std::vector<Rank>{1, 2}));
    ASSERT_EQ(sent<NoModel>().size(), 1U);
    EXPECT_EQ(sent<NoModel>()[0].rank, 0U);
}

// Rank 0's daemon was restarted before the first broadcast, in which the root's contents count.
TEST_F(CoreOpenedSinceTest, DoNotGiveWayToOneWhoHasNotTrained) {
    join(a_, 0, reducing(2));
    join(b_, 1, reducing(2));
    answer({{a_, kRounds, {0}}, {b_, kRounds, {1}}});
    send(NodeLost{a_, "test"});
    answer({{b_, kRounds, {1}}});
    attach("a");
    send(from(a_, WorkerJoin{100, 0, reducing(2), 1000, true, 0, 0, 0}));
    clear();
    ask(a_, 0);
    const CommitView view = answer({{a_, 0, {0}}, {b_, kRounds, {1}}});
    EXPECT_TRUE(suspended().empty());
    EXPECT_EQ(ranks_of(view), (std::vector<Rank>{0, 1}));
    EXPECT_EQ(view.adoptions, (std::vector<Adoption>{{0, kNoRank}}));
}

TEST_F(CoreOpenedSinceTest, AreNoMembersBesideOneWhoHasTheModel) {
    come_back_trained(b_, 0, reducing(2));
    join(b_, 1, reducing(2));
    EXPECT_EQ(ranks_of(answer({{b_, kRounds, {1}}})), (std::vector<Rank>{0}));
    EXPECT_EQ(suspended(), (std::vector<Rank>{1}));
    clear();
    ask(b_, 1);
    EXPECT_EQ(answer({{b_, kRounds, {1}}}).adoptions, (std::vector<Adoption>{{1, 0}}));
}

// They have no model that others could be given, and are members as before.
TEST_F(CoreOpenedSinceTest, AreNotThoseWhoComeBackToARestartedController) {
    const NodeId c = attach("c");
    join(a_, 0, reducing(3));
    join(b_, 1, reducing(3));
    join(c, 2, reducing(3));
    answer({{a_, 0, {0}}, {b_, 0, {1}}, {c, 0, {2}}});
    restart();
    replay_journal();
    for (const char* const name : {"a", "b", "c"}) attach(name);
    clear();
    come_back_trained(c, 2, reducing(3));
    ask(c, 2);
    resume(a_, 0, reducing(3), 1);
    resume(b_, 1, reducing(3), 1);
    const CommitView view = answer({{a_, kRounds, {0}}, {b_, kRounds, {1}}, {c, 0, {2}}});
    EXPECT_TRUE(suspended().empty());
    EXPECT_EQ(ranks_of(view), (std::vector<Rank>{0, 1}));
    EXPECT_EQ(sent<NoModel>().size(), 1U);
}

TEST_F(CoreOpenedSinceTest, AreMembersAtOnceIfNobodyHasAModel) {
    join(a_, 0, reducing(2));
    join(b_, 1, reducing(2));
    EXPECT_EQ(ranks_of(answer({{a_, kRounds, {0}}, {b_, kRounds, {1}}})),
              (std::vector<Rank>{0, 1}));
    EXPECT_TRUE(suspended().empty());
}

}  // namespace
}  // namespace pace::controller
