// Core waits: which workers wait for which in the controller's status; and a member that did not
// get a model.
#include <vector>

#include "service/controller/core/serving/server.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using Ranks = std::vector<Rank>;

class CoreWaitsTest : public CoreFixture, public ::testing::Test {};

// Its donor could not give its model. The call has ended with this error, and the worker calls
// again.
TEST_F(CoreWaitsTest, TakeInAMemberThatHasGotNoModelAgain) {
    const auto nodes = start(reducing(3));
    send(from(nodes[2], WorkerLeave{1, 2, false}));
    join(nodes[2], 2, reducing(3));
    complete_rounds(40);
    send(from(nodes[2], WorkerAdmit{1, 2, true}));
    send(from(nodes[2], Heartbeat{{{1, 2, 1, 40, 5, false}}}));
    clear();
    send(from(nodes[2], WorkerAdmit{1, 2, true}));
    const auto views = take<CommitView>();
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].adoptions, (std::vector<Adoption>{{2, 0}}));
    send(from(nodes[2], WorkerAdmit{1, 2, false}));
    EXPECT_TRUE(take<CommitView>().empty()) << "it is a member";
}

TEST_F(CoreWaitsTest, TellWhoWaitsForWhomInARound) {
    const auto nodes = start(reducing(2));
    send(from(nodes[0], Heartbeat{{{1, 0, 0, 1, 0, false}}}));
    send(from(nodes[1], Heartbeat{{{1, 1, 0, 0, 500, false}}}));
    EXPECT_TRUE(job().waits.empty()) << "half a second is no news";
    send(from(nodes[1], Heartbeat{{{1, 1, 0, 0, 1500, false}}}));
    ASSERT_EQ(job().waits.size(), 1U);
    EXPECT_EQ(job().waits[0].what, "round 0");
    EXPECT_EQ(job().waits[0].waiting, Ranks{0});
    EXPECT_EQ(job().waits[0].missing, Ranks{1});
}

// Workers ready for a group wait for workers that compute.
TEST_F(CoreWaitsTest, TellWhoWaitsForWhomInAGroup) {
    const auto nodes = start(averaging(2, 2));
    send(from(nodes[0], Ready{1, 0, 1, 7, ReadyStage::called}));
    EXPECT_TRUE(job().waits.empty());
    pass_hearing(std::chrono::milliseconds(900), nodes);
    EXPECT_TRUE(job().waits.empty()) << "that is no news";
    pass_hearing(std::chrono::milliseconds(200), nodes);
    ASSERT_EQ(job().waits.size(), 1U);
    EXPECT_EQ(job().waits[0].what, "a group");
    EXPECT_EQ(job().waits[0].waiting, Ranks{0});
    EXPECT_EQ(job().waits[0].missing, Ranks{1});
}

TEST(HeldUp, NamesThoseWhoWaitAndThoseTooFarBehind) {
    constexpr Rank kFirst = 0;
    constexpr Rank kSlow = 1;
    constexpr Rank kThird = 2;
    ServerOptions options;
    options.staleness = 1;
    Server server(options);
    for (const Rank rank : {kFirst, kSlow, kThird}) server.add_member(rank);
    const TimePoint asked{std::chrono::seconds(5)};
    const auto push = [&](Rank rank, uint64_t clock) { server.stored(rank, clock, asked); };
    EXPECT_FALSE(server.held_up());
    push(kFirst, 0);
    push(kFirst, 1);
    push(kThird, 0);
    server.asked(kFirst, 2, 0, asked);
    const auto held = server.held_up();
    ASSERT_TRUE(held);
    EXPECT_EQ(held->waiting, std::vector<Rank>{kFirst});
    EXPECT_EQ(held->slow, std::vector<Rank>{kSlow});
    EXPECT_EQ(held->since, asked);
    push(kSlow, 0);
    EXPECT_FALSE(server.held_up());
}

}  // namespace
}  // namespace pace::controller
