// Server jobs, and nodes that do not reach the hosts of the model: whose word has a worker left
// out.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "service/controller/core/tests/server_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;

// Four workers' nodes, and one shard. So one node is the host, and the others need it.
class ServerCuts : public testing::Test {
  protected:
    ServerCuts() {
        JobOptions options = serving(4);
        options.shards = 1;
        nodes_ = hosts_.start(options);
        host_ = hosts_.view.shards.at(0);
        for (const NodeId node : nodes_)
            if (node != host_) others_.push_back(node);
    }
    void say(NodeId node, NodeId peer, bool cut = true) {
        hosts_.send(from(node, LinkCut{peer, cut, 2000}));
    }
    void settle() { hosts_.pass(milliseconds(1000)); }
    void wait(NodeId node, NodeId other) { hosts_.send(from(node, Stalled{1, {other}})); }
    std::vector<NodeId> left_out() {
        return hosts_.fixture.core().status(hosts_.fixture.now()).jobs.at(0).left_out;
    }

    Hosts hosts_;
    std::vector<NodeId> nodes_;
    NodeId host_ = 0;
    std::vector<NodeId> others_;
};

TEST_F(ServerCuts, AHostHasNobodyLeftOutByItsWordAlone) {
    say(host_, others_[0]);
    settle();
    EXPECT_EQ(left_out(), std::vector<NodeId>{});
    EXPECT_FALSE(hosts_.view.model_lost);
}

TEST_F(ServerCuts, AHostThatAccusesAllIsNotBelieved) {
    for (const NodeId other : others_) say(host_, other);
    settle();
    EXPECT_EQ(left_out(), std::vector<NodeId>{});
}

TEST_F(ServerCuts, ANodeThatSaysItselfThatItDoesNotHearTheHostIsLeftOut) {
    say(others_[0], host_);
    settle();
    EXPECT_EQ(left_out(), std::vector{others_[0]});
}

TEST_F(ServerCuts, BothEndsAreBelievedWhoeverIsLate) {
    say(host_, others_[0]);
    settle();
    say(others_[0], host_);
    EXPECT_EQ(left_out(), std::vector{others_[0]});
    say(others_[0], host_, false);
    EXPECT_EQ(left_out(), std::vector<NodeId>{}) << "the host is alone with its word again";
}

TEST_F(ServerCuts, AHostIsBelievedIfAThirdNodeSaysSo) {
    say(host_, others_[0]);
    settle();
    say(others_[1], others_[0]);
    settle();
    EXPECT_EQ(left_out(), std::vector{others_[0]});
}

// The way to the host is cut in one direction: the node hears the host, and the host does not
// answer what it does not get.
TEST_F(ServerCuts, AHostIsBelievedIfTheNodeSaysThatItWaitsForTheHost) {
    wait(others_[0], host_);
    say(host_, others_[0]);
    settle();
    EXPECT_EQ(left_out(), std::vector<NodeId>{}) << "that was before";
    wait(others_[1], host_);
    EXPECT_EQ(left_out(), std::vector<NodeId>{}) << "it says so of itself alone";
    wait(others_[0], others_[1]);
    EXPECT_EQ(left_out(), std::vector<NodeId>{});
    wait(others_[0], host_);
    EXPECT_EQ(left_out(), std::vector{others_[0]});
    say(host_, others_[0], false);
    EXPECT_EQ(left_out(), std::vector<NodeId>{});
}

// Otherwise a node could churn jobs that it has no part in.
TEST_F(ServerCuts, ACutFromANodeOutsideOfTheJobFormsNoView) {
    const NodeId outside = hosts_.attach("outside");
    const auto views = [&] { return hosts_.view.epoch; };
    const uint64_t before = views();
    for (const bool cut : {true, false, true, false, true}) {
        say(outside, host_, cut);
        settle();
    }
    hosts_.send(NodeLost{outside, "goodbye"});
    EXPECT_EQ(views(), before);
    say(others_[0], others_[1]);
    settle();
    EXPECT_GT(views(), before) << "both have a worker";
}

// Each of them has a worker, and keeps a shard that all others need.
TEST(ServerCutsAmongHosts, TheOneThatIsAloneWithItsWordLosesItsOwnWorker) {
    Hosts hosts;
    const std::vector<NodeId> nodes = hosts.start(serving(3));
    hosts.send(from(nodes[0], LinkCut{nodes[2], true, 2000}));
    hosts.pass(milliseconds(1000));
    const auto job = hosts.fixture.core().status(hosts.fixture.now()).jobs.at(0);
    EXPECT_EQ(job.left_out, std::vector{nodes[0]});
    EXPECT_FALSE(hosts.view.model_lost);
}

}  // namespace
}  // namespace pace::controller
