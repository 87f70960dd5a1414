// Core nodes: liveness, probes, exclusion.
#include <algorithm>

#include <gtest/gtest.h>

#include "protocol/options/limits.h"
#include "service/controller/core/nodes/membership.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CoreNodesTest : public ::testing::Test, public CoreFixture {};

TEST_F(CoreNodesTest, ExcludesASilentNodeWithItsWorkersAndTellsTheOthers) {
    const auto nodes = start(reducing(3));
    clear();
    pass_hearing(seconds(3), {nodes[0], nodes[2]});
    const auto excluded = sent<Excluded>();
    ASSERT_EQ(excluded.size(), 1U);
    EXPECT_EQ(excluded[0].node, nodes[1]);
    EXPECT_EQ(sent<NodeGone>().size(), 1U);
    EXPECT_EQ(take<CommitView>().at(0).members.size(), 2U);
    EXPECT_EQ(status_of(1), WorkerStatus::lost);
}

TEST_F(CoreNodesTest, LearnsHowOftenANodeIsHeardAndNoticesSooner) {
    const auto nodes = start(reducing(2));
    pass_hearing(seconds(5), nodes);
    clear();
    for (int i = 0; i < 6; ++i) {
        pass(milliseconds(100));
        hear({nodes[0]});
    }
    EXPECT_EQ(take<Excluded>().size(), 1U);  // after liveness_min, not liveness_max
}

TEST_F(CoreNodesTest, NeverWaitsLongerThanLivenessMax) {
    const auto nodes = start(reducing(2));
    for (int i = 0; i < 20; ++i) {
        pass(milliseconds(i % 2 == 0 ? 1900 : 100));
        hear(nodes);
    }
    EXPECT_TRUE(take<Excluded>().empty());
    pass(milliseconds(2001));
    EXPECT_EQ(take<Excluded>().size(), 2U);
}

TEST_F(CoreNodesTest, KeepsTheLatestOfWhatANodeHas) {
    const auto nodes = start(reducing(2));
    const auto machine = [this] { return core().status(now()).nodes.at(0).machine; };
    EXPECT_EQ(machine(), MachineReport{}) << "a daemon of the release before";
    MachineReport report{.memory_bytes = 64, .available_bytes = 16};
    report.gpus.resize(protocol::kGpusToldMax + 1);
    report.gpus[0] = {.name = "H100", .memory_bytes = 80, .has_used = true, .used_bytes = 3};
    send(from(nodes[0], Heartbeat{.machine = report}));
    send(from(nodes[0], Heartbeat{}));  // nothing new
    EXPECT_EQ(machine().memory_bytes, 64U);
    EXPECT_EQ(machine().available_bytes, 16U);
    EXPECT_EQ(machine().gpus.size(), protocol::kGpusToldMax);
    EXPECT_EQ(machine().gpus[0], report.gpus[0]);
    send(NodeLost{nodes[0], "it said goodbye"});
    EXPECT_EQ(machine(), MachineReport{}) << "what it had says nothing any more";
}

TEST_F(CoreNodesTest, KeepsASuspectThatAnswersItsProbe) {
    const auto nodes = start(reducing(3));
    send(from(nodes[0], PeerLost{nodes[1], "reset"}));
    EXPECT_EQ(take<Probe>().at(0).to.front(), nodes[1]);
    pass(milliseconds(20));
    hear({nodes[1]});
    pass(milliseconds(100));
    EXPECT_TRUE(take<Excluded>().empty());
}

TEST_F(CoreNodesTest, ExcludesASuspectThatDoesNotAnswer) {
    const auto nodes = start(reducing(3));
    send(from(nodes[0], PeerLost{nodes[1], "reset"}));
    pass(milliseconds(29));
    EXPECT_TRUE(sent<Excluded>().empty());
    pass(milliseconds(1));
    EXPECT_EQ(take<Excluded>().at(0).node, nodes[1]);
}

TEST_F(CoreNodesTest, ExcludesASuspectAtOnceWhenASecondPeerHasLostIt) {
    const auto nodes = start(reducing(3));
    send(from(nodes[0], PeerLost{nodes[1], "reset"}));
    send(from(nodes[0], PeerLost{nodes[1], "reset"}));
    EXPECT_TRUE(sent<Excluded>().empty());
    send(from(nodes[2], PeerLost{nodes[1], "reset"}));
    EXPECT_EQ(take<Excluded>().at(0).node, nodes[1]);
}

TEST_F(CoreNodesTest, BreaksABrokenLinkAtTheNodeWithFewerWorkers) {
    const NodeId small = attach("small");
    const NodeId large = attach("large");
    join(small, 0, reducing(3));
    join(large, 1, reducing(3));
    join(large, 2, reducing(3));
    for (int i = 0; i < 3; ++i) {
        send(from(i == 1 ? small : large, PeerLost{i == 1 ? large : small, "reset"}));
        hear({small, large});
        pass(milliseconds(100));
    }
    const auto excluded = take<Excluded>();
    ASSERT_EQ(excluded.size(), 1U);
    EXPECT_EQ(excluded[0].node, small);
}

TEST_F(CoreNodesTest, ANodeThatIsAloneWithItsReportsIsTheOneThatIsExcluded) {
    const NodeId large = attach("large");
    const NodeId small = attach("small");
    join(large, 0, reducing(3));
    join(large, 1, reducing(3));
    join(small, 2, reducing(3));
    for (int i = 0; i < 3; ++i) {
        send(from(large, PeerLost{small, "it says so"}));
        hear({small, large});
        pass(milliseconds(100));
    }
    const auto excluded = take<Excluded>();
    ASSERT_EQ(excluded.size(), 1U);
    EXPECT_EQ(excluded[0].node, large);
}

TEST_F(CoreNodesTest, ExcludesASilentNodeThatARoundWaitsFor) {
    const auto nodes = start(reducing(2));
    pass_hearing(seconds(5), nodes);
    clear();
    send(from(nodes[0], Stalled{1, {nodes[1]}}));
    EXPECT_TRUE(sent<Excluded>().empty());
    pass(milliseconds(490));
    hear({nodes[0]});
    EXPECT_TRUE(sent<Excluded>().empty());
    pass(milliseconds(20));
    EXPECT_EQ(take<Excluded>().size(), 1U);
}

TEST_F(CoreNodesTest, LosesTheEarlierAttachmentOfANodeThatAttachesAgain) {
    const auto nodes = start(reducing(2));
    clear();
    const NodeId again = attach("node0");
    EXPECT_EQ(again, nodes[0]);
    EXPECT_EQ(sent<NodeGone>().at(0).node, nodes[0]);
    EXPECT_TRUE(sent<Excluded>().empty());
    EXPECT_EQ(status_of(0), WorkerStatus::lost);
    // Its workers come back as newcomers: the job continued without them.
    clear();
    resume(again, 0, reducing(2), 1);
    EXPECT_TRUE(take<JoinAccepted>().at(0).under_way);
}

// Names that are drawn anew at every start.
TEST_F(CoreNodesTest, ForgetsNodesThatAreGoneAndThatNoJobRefersTo) {
    const NodeId a = attach("a");
    const NodeId b = attach("b");
    join(a, 0, averaging(2));
    join(b, 1, averaging(2));
    send(NodeLost{b, "test"});
    for (int i = 0; i < 20'000; ++i) {
        const std::string name = "drawn" + std::to_string(i);
        send(Hello{0, name, 1, {std::byte{1}}, "host", 8, 0, "zone" + std::to_string(i)});
        const NodeId node = take<Attached>().at(0).node;
        send(NodeLost{node, "test"});
        clear();
        ASSERT_LT(core().status(now()).nodes.size(), 1100U);
    }
    EXPECT_LT(core().journal_snapshot().size(), 1200U);
    // Nodes that a job refers to keep their ids.
    EXPECT_EQ(attach("a"), a);
    EXPECT_EQ(attach("b"), b);
}

// One node name that changes its zone again and again.
TEST_F(CoreNodesTest, ForgetsLabelsThatNoNodeHas) {
    Membership nodes{CoreOptions{}, [] { return uint64_t{1}; }};
    Actions actions;
    const Turn turn{now(), actions};
    Hello other{0, "other", 1, {}, "host", 8, 0, "rack"};
    const NodeId kept = nodes.attach(other, turn);
    const uint32_t number = nodes.label_of(kept);
    for (int i = 0; i < 5'000; ++i) {
        const Hello event{0, "a", 1, {}, "host", 8, 0, "zone" + std::to_string(i)};
        nodes.detach(nodes.attach(event, turn), "test", false, turn);
        ASSERT_LE(nodes.labels(), 100U);
    }
    other.name = "another";
    EXPECT_EQ(nodes.label_of(nodes.attach(other, turn)), number);
}

// A long-lived node measures one peer after another, each with a new name.
TEST_F(CoreNodesTest, HasRoomForWhatANodeMeasuresHoweverManyAreGone) {
    const NodeId old = attach("old");
    const NodeId stays = attach("stays");
    send(from(old, Heartbeat{.workers = {}, .links = {{stays, 1000, 1.0}}}));
    for (int i = 0; i < 200; ++i) {
        const NodeId peer = attach("peer" + std::to_string(i));
        send(from(old, Heartbeat{.workers = {}, .links = {{peer, 1000, 1.0}}}));
        const auto links = core().status(now()).links;
        const auto has = [&links](NodeId to) {
            return std::any_of(links.begin(), links.end(),
                               [to](const LinkView& link) { return link.to == to; });
        };
        ASSERT_TRUE(has(peer)) << "peer " << i;
        ASSERT_TRUE(has(stays)) << "after peer " << i;
        ASSERT_LE(links.size(), 64U);
        send(NodeLost{peer, "test"});
    }
}

// After a restart of the controller the other node is not back yet, and each measurement is
// reported once.
TEST_F(CoreNodesTest, LearnsTheLinksToNodesThatItAwaits) {
    const NodeId a = attach("a");
    const NodeId b = attach("b");
    restart();
    replay_journal();
    attach("a");
    send(from(a, Heartbeat{.workers = {}, .links = {{b, 1000, 1.0}}}));
    EXPECT_EQ(core().status(now()).links.size(), 1U);
}

// A job that runs on and on, with workers on ever new nodes.
TEST_F(CoreNodesTest, NamesNoNodeThatIsForgottenWhenAJobEnds) {
    const NodeId a = attach("a");
    join(a, 0, averaging(2));
    for (int i = 0; i < 3'000; ++i) {
        const NodeId node = attach("drawn" + std::to_string(i));
        join(node, 1, averaging(2));
        send(from(node, WorkerLeave{1, 1, true}));
        send(NodeLost{node, "test"});
        clear();
    }
    EXPECT_LT(core().status(now()).nodes.size(), 1100U);
    send(from(a, WorkerLeave{1, 0, true}));
    const auto ended = sent<JobEnded>();
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_LT(ended[0].to.size(), 1100U);
}

// The top-k residuals there are lost with the node.
TEST_F(CoreNodesTest, RemembersNoNodeForWhatItOwed) {
    JobOptions options = reducing(2);
    options.compression = Compression::spardl;
    const NodeId a = attach("a");
    join(a, 0, options);
    const uint64_t token = sent<JoinAccepted>().at(0).token;
    for (int i = 0; i < 3'000; ++i) {
        const NodeId node = attach("drawn" + std::to_string(i));
        send(from(node, JobKept{1, token, false, true}));
        send(NodeLost{node, "test"});
        clear();
    }
    EXPECT_LT(core().status(now()).nodes.size(), 1100U);
}

}  // namespace
}  // namespace pace::controller
