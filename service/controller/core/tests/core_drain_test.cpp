// Core drain: an operator drains a node: its workers leave, the others continue, nobody joins
// there.
#include <gtest/gtest.h>

#include "service/controller/core/journal/journal_record.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::seconds;

class CoreDrainTest : public testing::Test, public CoreFixture {
  protected:
    void drain(NodeId asker, const std::string& node, bool undo = false) {
        send(from(asker, NodeDrain{9, node, undo}));
    }
};

TEST_F(CoreDrainTest, ItsWorkersLeaveAtOnceAndTheOthersGoOn) {
    const auto nodes = start(reducing(4), 2);
    clear();
    drain(nodes[0], "node1");
    const auto told = sent<WorkerSuspended>();
    ASSERT_EQ(told.size(), 2U);
    for (const auto& one : told) {
        EXPECT_EQ(one.to, std::vector<NodeId>{nodes[1]});
        EXPECT_TRUE(one.drained);
        EXPECT_NE(one.reason.find("an operator drains node 'node1'"), std::string::npos);
    }
    EXPECT_EQ(sent<NodeDrained>().size(), 1U);
    const auto views = sent<CommitView>();
    ASSERT_FALSE(views.empty());
    EXPECT_EQ(views.back().members.size(), 2U);
    EXPECT_EQ(status_of(0), WorkerStatus::active);
    EXPECT_EQ(status_of(2), WorkerStatus::left);
    EXPECT_TRUE(core().status(now()).nodes.at(1).draining);
    EXPECT_FALSE(core().status(now()).nodes.at(0).draining);
}

TEST_F(CoreDrainTest, NobodyJoinsThereUntilItIsPutBack) {
    const auto nodes = start(averaging(2));
    drain(nodes[0], "node1");
    clear();
    join(nodes[1], 1, averaging(2));
    auto refused = take<JoinRefused>();
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_EQ(refused[0].error.kind, base::ErrorKind::denied);
    EXPECT_NE(refused[0].error.message.find("pacectl node undrain node1"), std::string::npos);
    // Its rank is free for another node.
    const NodeId third = attach("node2");
    join(third, 1, averaging(2));
    EXPECT_EQ(take<JoinAccepted>().size(), 1U);
    drain(nodes[0], "node1", true);
    EXPECT_EQ(sent<NodeDrained>().size(), 1U);
    send(from(third, WorkerLeave{1, 1, true}));
    clear();
    join(nodes[1], 1, averaging(2));
    EXPECT_EQ(take<JoinAccepted>().size(), 1U);
}

TEST_F(CoreDrainTest, SurvivesTheControllersRestartAndTheDaemons) {
    start(averaging(2));
    drain(1, "node1");
    restart();
    replay_journal();
    EXPECT_TRUE(core().status(now()).nodes.at(1).draining);
    const NodeId node = attach("node1");
    EXPECT_TRUE(core().status(now()).nodes.at(1).draining);
    clear();
    // Its daemon missed this, and announces the worker again.
    resume(node, 1, averaging(2), 1);
    EXPECT_EQ(take<JoinRefused>().size(), 1U);
    core().begin_anew(now());
    EXPECT_TRUE(core().status(now()).nodes.at(1).draining);
    // A rewritten journal keeps the draining; after the node is put back, it does not.
    const auto draining = [this] {
        size_t found = 0;
        for (const auto& record : core().journal_snapshot())
            if (std::holds_alternative<DrainRecord>(*decode(record))) ++found;
        return found;
    };
    EXPECT_EQ(draining(), 1U);
    drain(attach("node0"), "node1", true);
    EXPECT_EQ(draining(), 0U);
}

TEST_F(CoreDrainTest, ANodeThatIsNotKnownIsRefused) {
    const NodeId node = attach("node0");
    drain(node, "nodes");
    const auto refused = take<JoinRefused>();
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_EQ(refused[0].request, 9U);
    EXPECT_EQ(refused[0].error.kind, base::ErrorKind::not_found);
}

TEST_F(CoreDrainTest, SaysSoOnce) {
    const auto nodes = start(averaging(2));
    clear();
    drain(nodes[0], "node1");
    drain(nodes[0], "node1");
    size_t drained = 0;
    for (const Note& note : sent<Note>()) drained += note.event == "node-drained" ? 1 : 0;
    EXPECT_EQ(drained, 1U);
}

}  // namespace
}  // namespace pace::controller
