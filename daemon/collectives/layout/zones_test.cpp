#include "daemon/collectives/layout/zones.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::collectives {
namespace {

std::vector<uint32_t> random_places(size_t nodes, base::Random& random) {
    std::vector<uint32_t> places(nodes);
    const uint64_t numbers = 1 + random.below(nodes);
    for (uint32_t& place : places) place = static_cast<uint32_t>(random.below(numbers));
    return places;
}

TEST(Zones, AreNumberedInTheOrderOfTheirFirstNodes) {
    const std::vector<uint32_t> places = {7, 0, 7, 3, 0};
    const Zones zones(places, 5);
    ASSERT_EQ(zones.count(), 3U);
    EXPECT_EQ(zones.members(0), (std::vector<size_t>{0, 2}));
    EXPECT_EQ(zones.members(1), (std::vector<size_t>{1, 4}));
    EXPECT_EQ(zones.members(2), (std::vector<size_t>{3}));
    for (size_t node = 0; node < 5; ++node)
        for (size_t other = 0; other < 5; ++other)
            EXPECT_EQ(zones.of(node) == zones.of(other), places[node] == places[other]);
}

TEST(Zones, RelaysHelpOnlyWhereSeveralNodesShareAPlaceAndOthersDoNot) {
    const auto help = [](const std::vector<uint32_t>& places, size_t nodes) {
        return Zones(places, nodes).relays_help();
    };
    EXPECT_FALSE(help({}, 1));
    EXPECT_FALSE(help({}, 4));
    EXPECT_FALSE(help({0, 0, 0}, 3));
    EXPECT_FALSE(help({2, 2}, 2));
    EXPECT_FALSE(help({1, 2}, 2));
    EXPECT_FALSE(help({0, 1, 2, 3}, 4));
    EXPECT_TRUE(help({0, 0, 1}, 3));
    EXPECT_TRUE(help({1, 2, 1, 2}, 4));
}

TEST(Zones, EachBlockHasOneCarrierInEachZoneItsOwnerInItsOwn) {
    base::Random random(1);
    for (size_t nodes = 1; nodes <= 20; ++nodes) {
        const Zones zones(random_places(nodes, random), nodes);
        for (size_t block = 0; block < nodes; ++block) {
            EXPECT_EQ(zones.carrier(block, zones.of(block)), block);
            for (size_t zone = 0; zone < zones.count(); ++zone)
                EXPECT_EQ(zones.of(zones.carrier(block, zone)), zone);
        }
        for (size_t node = 0; node < nodes; ++node) {
            const std::vector<size_t> carried = zones.carried_by(node);
            EXPECT_EQ(carried.back(), node);
            for (size_t block = 0; block < nodes; ++block)
                EXPECT_EQ(std::count(carried.begin(), carried.end(), block),
                          zones.carrier(block, zones.of(node)) == node ? 1 : 0);
        }
    }
}

TEST(Zones, TheNodesOfAZoneRelayEquallyManyBlocksOrOneMore) {
    base::Random random(2);
    for (size_t nodes = 2; nodes <= 30; ++nodes) {
        const Zones zones(random_places(nodes, random), nodes);
        for (size_t zone = 0; zone < zones.count(); ++zone) {
            const std::vector<size_t>& members = zones.members(zone);
            const size_t from_outside = nodes - members.size();
            size_t relayed = 0;
            for (const size_t node : members) {
                const size_t blocks = zones.carried_by(node).size() - 1;
                EXPECT_GE(blocks, from_outside / members.size());
                EXPECT_LE(blocks, (from_outside + members.size() - 1) / members.size());
                relayed += blocks;
            }
            EXPECT_EQ(relayed, from_outside);
        }
    }
}

TEST(Zones, InTwoOfOneSizeEachNodeHasOnePartner) {
    const Zones zones(std::vector<uint32_t>{1, 2, 2, 1, 1, 2}, 6);
    for (size_t node = 0; node < 6; ++node) {
        const size_t partner = zones.carrier(node, 1 - zones.of(node));
        EXPECT_EQ(zones.carrier(partner, zones.of(node)), node);
    }
}

}  // namespace
}  // namespace pace::collectives
