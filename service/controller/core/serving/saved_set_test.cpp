#include "service/controller/core/serving/saved_set.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

SavedModel saved(uint64_t generation, uint64_t position, uint32_t shards,
                 std::vector<uint32_t> there, uint64_t token = 5) {
    SavedModel model;
    model.token = token;
    model.generation = generation;
    model.shards = shards;
    model.there = std::move(there);
    model.ledger.position = position;
    return model;
}

ServerReport report(std::vector<SavedModel> models) {
    ServerReport report;
    report.saved = std::move(models);
    return report;
}

TEST(SavedSet, TheNewestOfWhichEveryShardIsSomewhere) {
    EXPECT_FALSE(newest_saved({}, 0));
    const std::map<NodeId, ServerReport> reports{
        {1, report({saved(1, 90, 2, {0, 1}), saved(2, 10, 2, {0}), saved(2, 20, 2, {0})})},
        {2, report({saved(2, 10, 2, {0, 1}), saved(2, 20, 2, {0})})}};
    const auto newest = newest_saved(reports, 0);
    ASSERT_TRUE(newest);
    EXPECT_EQ(newest->generation, 2U);
    EXPECT_EQ(newest->ledger.position, 10U);
    EXPECT_EQ(newest->holders, (std::vector<std::vector<NodeId>>{{1, 2}, {2}}));
    EXPECT_EQ(newest_generation(reports), 2U);
}

TEST(SavedSet, WhatDiffersDoesNotMix) {
    // Another number of shards; another job of the same name.
    EXPECT_FALSE(newest_saved({{1, report({saved(1, 9, 2, {0}), saved(1, 9, 3, {1})})}}, 0));
    EXPECT_FALSE(newest_saved(
        {{1, report({saved(1, 9, 2, {0}, 5)})}, {2, report({saved(1, 9, 2, {1}, 6)})}}, 0));
    const std::map<NodeId, ServerReport> two{
        {1, report({saved(2, 9, 1, {0}, 6), saved(1, 9, 1, {0}, 5)})}};
    EXPECT_EQ(newest_saved(two, 0)->generation, 2U);
    EXPECT_EQ(newest_saved(two, 5)->generation, 1U);
    EXPECT_FALSE(newest_saved(two, 7));
}

TEST(SavedSet, ShardsThatAreNoneAreIgnored) {
    EXPECT_FALSE(newest_saved({{1, report({saved(1, 9, 2, {0, 7})})}}, 0));
}

TEST(SavedSet, AShardStaysWhereItIsSavedAndTheOthersAreSpread) {
    SavedSet set;
    set.holders = {{1, 2}, {2, 3}, {2, 3}, {1, 2, 3}};
    EXPECT_EQ(place_saved(set, std::vector<NodeId>{1, 2, 4, 4}), (std::vector<NodeId>{1, 2, 3, 1}));
    EXPECT_EQ(place_saved(set, {}), (std::vector<NodeId>{1, 2, 3, 1}));
    // With another number of shards the earlier places are ignored.
    EXPECT_EQ(place_saved(set, std::vector<NodeId>{3, 3}), (std::vector<NodeId>{1, 2, 3, 1}));
}

}  // namespace
}  // namespace pace::controller
