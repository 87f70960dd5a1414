// Tests that all nodes learn who contributes.
#include <vector>

#include <gtest/gtest.h>

#include "daemon/collectives/tests/test_cluster.h"
#include "daemon/partial/agreement/agreement.h"
#include "daemon/partial/tests/test_round.h"

namespace pace::partial {
namespace {

base::Task<base::Result<>> agree_into(collectives::Communicator& communicator, Roster roster,
                                      NodeView own, std::vector<NodeView>& ret_views) {
    Agreement agreement(communicator, roster);
    const auto views = co_await agreement.run(std::move(own));
    if (!views) co_return views.error();
    ret_views = *views;
    co_return base::Result<>();
}

TEST(Agreement, EveryNodeEndsWithAllViews) {
    for (size_t nodes = 1; nodes <= 17; ++nodes)
        for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), {nodes}}) {
            Roster roster = make_roster(nodes, 3);
            roster.nodes[nodes / 2].clear();
            std::vector<NodeView> expected;
            for (const std::vector<Rank>& ranks : roster.nodes) {
                expected.push_back({static_cast<uint32_t>(expected.size() * 11), {}});
                for (const Rank rank : ranks)
                    expected.back().given.push_back(rank % 3 == 0 ? kNothing : rank * 7);
            }
            std::vector<std::vector<NodeView>> views(nodes);
            collectives::TestCluster cluster(nodes, seed);
            for (size_t node = 0; node < nodes; ++node)
                cluster.start(node, agree_into(cluster.communicator(node), roster, expected[node],
                                               views[node]));
            cluster.run_well();
            for (size_t node = 0; node < nodes; ++node) ASSERT_EQ(views[node], expected);
        }
}

TEST(Agreement, TakesTheLogarithmOfTheNodesInMessages) {
    for (size_t nodes = 1; nodes <= 17; ++nodes) {
        size_t rounds = 0;
        while ((size_t{1} << rounds) < nodes) ++rounds;
        const Roster roster = make_roster(nodes, 2);
        std::vector<std::vector<NodeView>> views(nodes);
        collectives::TestCluster cluster(nodes);
        for (size_t node = 0; node < nodes; ++node)
            cluster.start(node,
                          agree_into(cluster.communicator(node), roster,
                                     {1, Snapshot(roster.nodes[node].size(), 0)}, views[node]));
        cluster.run_well();
        for (size_t node = 0; node < nodes; ++node)
            ASSERT_EQ(cluster.communicator(node).counters().messages_sent, rounds);
    }
}

}  // namespace
}  // namespace pace::partial
