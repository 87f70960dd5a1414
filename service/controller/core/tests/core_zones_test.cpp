// Core zones: the nodes' zones, by operators' labels or by measured links, in views, orders and
// plans. Also the nodes' NCCL, which is distributed in the same way.
#include <algorithm>
#include <set>

#include "service/controller/core/groups/places.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

class CoreZonesTest : public CoreFixture, public ::testing::Test {
  protected:
    explicit CoreZonesTest(const CoreOptions& options = {}) : CoreFixture(options) {}

    NodeId attach_in(const std::string& name, const std::string& zone) {
        send(Hello{0, name, 1, {std::byte{1}}, "host", 8, 0, zone});
        return sent<Attached>().back().node;
    }
    // One node for each zone, two workers on each.
    std::vector<NodeId> start_in(const std::vector<std::string>& zones, const JobOptions& options) {
        std::vector<NodeId> nodes;
        for (size_t i = 0; i < zones.size(); ++i)
            nodes.push_back(attach_in("node" + std::to_string(i), zones[i]));
        for (Rank rank = 0; rank < options.world; ++rank) join(nodes[rank / 2], rank, options);
        return nodes;
    }
    std::vector<uint32_t> zones_of_the_view() {
        std::vector<uint32_t> zones;
        const CommitView view = sent<CommitView>().back();
        for (const Member& member : view.members) zones.push_back(member.zone);
        return zones;
    }
    void tell(NodeId node, NodeId to, double ms) {
        send(from(node, Heartbeat{.workers = {},
                                  .groups = {},
                                  .links = {{.node = to, .latency_ns = 1000, .ns_per_byte = ms}}}));
    }
    // The first half of the nodes is far from the second.
    void measure_all(const std::vector<NodeId>& nodes) {
        for (size_t i = 0; i < nodes.size(); ++i)
            for (size_t j = i + 1; j < nodes.size(); ++j) {
                const bool near = (i < nodes.size() / 2) == (j < nodes.size() / 2);
                tell(nodes[i], nodes[j], near ? 1 : 10);
            }
    }
    // All workers signal; the groups that form end at once. Returns the number of members of groups
    // across `half`.
    size_t round_across(uint32_t world, Rank half) {
        size_t across = 0;
        clear();
        for (Rank rank = 0; rank < world; ++rank)
            send(from(node_of(rank), Ready{.job = 1, .rank = rank, .iteration = ++iteration_}));
        for (const GroupOrder& order : take<GroupOrder>()) {
            std::set<bool> sides;
            std::set<NodeId> nodes;
            for (const Part& part : order.members) {
                sides.insert(part.rank < half);
                nodes.insert(part.node);
            }
            if (sides.size() == 2) across += order.members.size();
            for (const NodeId node : nodes)
                send(from(node, GroupDone{.job = 1, .group = order.group}));
        }
        return across;
    }
    NodeId node_of(Rank rank) const {
        for (const WorkerView& worker : job().workers)
            if (worker.rank == rank) return worker.node;
        return 0;
    }

    uint64_t iteration_ = 0;
};

JobOptions smart(uint32_t world) {
    JobOptions options = averaging(world, 2);
    options.policy = Policy::prague_smart;
    return options;
}

TEST_F(CoreZonesTest, LabelsAreNumbersInViewsAndStayTheSame) {
    const auto nodes = start_in({"rack-1", "", "rack-2", "rack-1"}, reducing(8));
    EXPECT_EQ(zones_of_the_view(), (std::vector<uint32_t>{1, 1, 0, 0, 2, 2, 1, 1}));
    // The daemon restarts, in another zone.
    send(NodeLost{nodes[0], "gone"});
    EXPECT_EQ(zones_of_the_view(), (std::vector<uint32_t>{0, 0, 2, 2, 1, 1}));
    const NodeId again = attach_in("node0", "rack-2");
    EXPECT_EQ(again, nodes[0]);
    join(again, 0, reducing(8));
    send(from(again, WorkerAdmit{.job = 1, .rank = 0, .wants_model = true}));
    EXPECT_EQ(zones_of_the_view(), (std::vector<uint32_t>{2, 0, 0, 2, 2, 1, 1}));
}

TEST_F(CoreZonesTest, OrdersNameTheZonesOfTheirMembers) {
    JobOptions options = averaging(4, 4);
    options.policy = Policy::full;
    const auto nodes = start_in({"a", "b"}, options);
    for (Rank rank = 0; rank < 4; ++rank)
        send(from(nodes[rank / 2], Ready{.job = 1, .rank = rank, .iteration = 1}));
    const auto orders = sent<GroupOrder>();
    ASSERT_EQ(orders.size(), 1U);
    std::vector<uint32_t> zones;
    for (const Part& part : orders[0].members) zones.push_back(part.zone);
    EXPECT_EQ(zones, (std::vector<uint32_t>{1, 1, 2, 2}));
}

TEST_F(CoreZonesTest, ViewsAndOrdersNameTheNcclOfEachNode) {
    const auto attach_with = [this](const std::string& name, uint32_t nccl) {
        send(Hello{0, name, 1, {std::byte{1}}, "host", 8, 0, "", nccl});
        return sent<Attached>().back().node;
    };
    const auto nccl_of = [](const auto& members) {
        std::vector<uint32_t> numbers;
        for (const auto& member : members) numbers.push_back(member.nccl);
        return numbers;
    };
    JobOptions options = averaging(3, 3);
    options.policy = Policy::full;
    const std::vector<NodeId> nodes{attach_with("a", 22105), attach_with("b", 0),
                                    attach_with("c", 22809)};
    for (Rank rank = 0; rank < 3; ++rank) join(nodes[rank], rank, options);
    EXPECT_EQ(nccl_of(sent<CommitView>().back().members), (std::vector<uint32_t>{22105, 0, 22809}));
    const auto order = [&] {
        for (Rank rank = 0; rank < 3; ++rank)
            send(from(nodes[rank], Ready{.job = 1, .rank = rank, .iteration = 1}));
        return nccl_of(sent<GroupOrder>().back().members);
    };
    EXPECT_EQ(order(), (std::vector<uint32_t>{22105, 0, 22809}));
    // A daemon returns, with another library.
    EXPECT_EQ(attach_with("b", 22809), nodes[1]);
    join(nodes[1], 1, options);
    send(from(nodes[1], WorkerAdmit{.job = 1, .rank = 1, .wants_model = true}));
    EXPECT_EQ(nccl_of(sent<CommitView>().back().members),
              (std::vector<uint32_t>{22105, 22809, 22809}));
    EXPECT_EQ(order(), (std::vector<uint32_t>{22105, 22809, 22809}));
    EXPECT_EQ(core().status(now()).nodes.at(1).nccl, 22809U);
}

TEST_F(CoreZonesTest, SmartGroupsCrossZonesByTheirHeadsAlone) {
    start_in({"a", "a", "b", "b"}, smart(8));
    for (int plan = 0; plan < 20; ++plan) {
        EXPECT_EQ(round_across(8, 4), 2U);
        EXPECT_EQ(round_across(8, 4), 0U);
        EXPECT_EQ(round_across(8, 4), 0U);
    }
    EXPECT_EQ(job().sync_components, 1U);
    EXPECT_LT(job().spectral_gap, 1);
    EXPECT_GT(job().spectral_gap, 0);
}

// Plans may follow a measurement; the order of a sum does not.
TEST_F(CoreZonesTest, MeasuredLinksMakePlacesForTheNextPlanAndForNoSum) {
    const auto nodes = start_in({"", "", "", ""}, smart(8));
    measure_all(nodes);
    EXPECT_EQ(round_across(8, 4), 2U);
    EXPECT_EQ(round_across(8, 4), 0U);
    EXPECT_EQ(round_across(8, 4), 0U);
    EXPECT_EQ(job().zones.size(), 2U);
    clear();
    for (Rank rank = 0; rank < 8; ++rank)
        send(from(node_of(rank), Ready{.job = 1, .rank = rank, .iteration = 100}));
    const auto orders = take<GroupOrder>();
    ASSERT_FALSE(orders.empty());
    for (const GroupOrder& order : orders)
        for (const Part& part : order.members) EXPECT_EQ(part.zone, 0U);
    send(from(nodes[3], WorkerLeave{.job = 1, .rank = 7, .orderly = true}));
    EXPECT_EQ(zones_of_the_view(), std::vector<uint32_t>(7, 0));
}

class CoreMeasuredZonesTest : public CoreZonesTest {
  protected:
    CoreMeasuredZonesTest() : CoreZonesTest({.relay_measured_zones = true}) {}
};

TEST_F(CoreMeasuredZonesTest, SumsFollowMeasurementsWhereTheOperatorPrefersSpeed) {
    const auto nodes = start_in({"", "", "", ""}, smart(8));
    measure_all(nodes);
    const auto a = Places::kFirstPlace;
    const auto b = a + 1;
    EXPECT_EQ(zones_of_the_view(), std::vector<uint32_t>(8, 0)) << "of the view in force";
    EXPECT_EQ(round_across(8, 4), 2U);
    EXPECT_EQ(round_across(8, 4), 0U);
    EXPECT_EQ(round_across(8, 4), 0U);
    send(from(nodes[3], WorkerLeave{.job = 1, .rank = 7, .orderly = true}));
    EXPECT_EQ(zones_of_the_view(), (std::vector<uint32_t>{a, a, a, a, b, b, b}));
}

// A node that attaches again does not repeat its measurements.
TEST_F(CoreMeasuredZonesTest, MeasurementsOutliveAnAttachment) {
    const auto nodes = start_in({"", "", "", ""}, reducing(8));
    measure_all(nodes);
    send(NodeLost{nodes[1], "gone"});
    const auto a = Places::kFirstPlace;
    EXPECT_EQ(zones_of_the_view(), (std::vector<uint32_t>{a, a, a + 1, a + 1, a + 1, a + 1}));
    attach_in("node1", "");
    join(nodes[1], 2, reducing(8));
    send(from(nodes[1], WorkerAdmit{.job = 1, .rank = 2, .wants_model = true}));
    EXPECT_EQ(zones_of_the_view(), (std::vector<uint32_t>{a, a, a, a + 1, a + 1, a + 1, a + 1}));
}

TEST_F(CoreZonesTest, LabelsWinOverLinks) {
    const auto nodes = start_in({"x", "", "", "y"}, smart(8));
    measure_all(nodes);
    const auto zones = job().zones;
    ASSERT_EQ(zones.size(), 4U);
    EXPECT_EQ(zones[0].label, "x");
    EXPECT_EQ(zones[0].nodes, (std::vector<NodeId>{nodes[0]}));
    EXPECT_EQ(zones[1].label, "y");
    EXPECT_EQ(zones[2].label, "");
    EXPECT_EQ(zones[2].zone, Places::kFirstPlace);
    EXPECT_EQ(zones[2].nodes, (std::vector<NodeId>{nodes[1]}));
    EXPECT_EQ(zones[3].nodes, (std::vector<NodeId>{nodes[2]}));
}

TEST_F(CoreZonesTest, ReportsOfUnknownNodesAndNonsenseAreIgnored) {
    const auto nodes = start_in({"", "", "", ""}, smart(8));
    tell(nodes[0], 99, 1);
    tell(nodes[0], nodes[0], 1);
    tell(nodes[0], nodes[1], -1);
    tell(99, nodes[0], 1);
    EXPECT_TRUE(core().status(now()).links.empty());
    tell(nodes[0], nodes[1], 1);
    const auto links = core().status(now()).links;
    ASSERT_EQ(links.size(), 1U);
    EXPECT_EQ(links[0].from, nodes[0]);
    EXPECT_EQ(links[0].to, nodes[1]);
    EXPECT_EQ(links[0].link, (Link{1000, 1}));
}

}  // namespace
}  // namespace pace::controller
