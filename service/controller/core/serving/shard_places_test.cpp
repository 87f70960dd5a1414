#include "service/controller/core/serving/shard_places.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

std::vector<NodeId> first_nodes(NodeId count) {
    std::vector<NodeId> nodes(count);
    std::iota(nodes.begin(), nodes.end(), NodeId{1});
    return nodes;
}

size_t most_on_one(const std::vector<NodeId>& places) {
    std::map<NodeId, size_t> kept;
    for (const NodeId node : places) ++kept[node];
    size_t most = 0;
    for (const auto& [node, count] : kept) most = std::max(most, count);
    return most;
}

TEST(ShardPlaces, NoNodeHasMoreThanItsShare) {
    for (NodeId nodes = 1; nodes <= 17; ++nodes)
        for (size_t shards = 1; shards <= 40; ++shards)
            for (uint64_t token = 1; token <= 5; ++token) {
                const auto places =
                    place_shards(token, std::vector<NodeId>(shards, 0), first_nodes(nodes));
                ASSERT_EQ(places.size(), shards);
                ASSERT_EQ(std::count(places.begin(), places.end(), 0U), 0);
                ASSERT_LE(most_on_one(places), (shards + nodes - 1) / nodes);
            }
}

TEST(ShardPlaces, OnlyTheShardsOfANodeThatIsGoneMove) {
    const auto before = place_shards(3, std::vector<NodeId>(16, 0), first_nodes(4));
    const auto after = place_shards(3, before, std::vector<NodeId>{1, 2, 4});
    for (size_t shard = 0; shard < before.size(); ++shard) {
        if (before[shard] == 3) {
            EXPECT_NE(after[shard], 3U);
        } else {
            EXPECT_EQ(after[shard], before[shard]);
        }
    }
    EXPECT_LE(most_on_one(after), 6U);
}

TEST(ShardPlaces, AJobOfItsOwnHasPlacesOfItsOwn) {
    const std::vector<NodeId> none(16, 0);
    EXPECT_NE(place_shards(1, none, first_nodes(4)), place_shards(2, none, first_nodes(4)));
    EXPECT_EQ(place_shards(1, none, first_nodes(4)), place_shards(1, none, first_nodes(4)));
}

}  // namespace
}  // namespace pace::controller
