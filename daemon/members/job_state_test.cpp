#include "daemon/members/job_state.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

// The n-th of zones() is the zone of the n-th of nodes(), whatever the order of ranks, since
// collectives take the two together.
TEST(View, TellsTheZoneOfEachNodeInTheOrderOfItsNodes) {
    View view;
    view.members = {{0, 30, 2}, {1, 10, 7}, {3, 30, 2}, {4, 20, 0}, {6, 10, 7}};
    EXPECT_EQ(view.nodes(), (std::vector<NodeId>{30, 10, 20}));
    EXPECT_EQ(view.zones(), (std::vector<uint32_t>{2, 7, 0}));
}

TEST(View, TellsTheNcclOfEachNodeInTheOrderOfItsNodes) {
    View view;
    view.members = {{0, 30, 0, 22105}, {1, 10, 0, 0}, {3, 30, 0, 22105}, {4, 20, 0, 22809}};
    EXPECT_EQ(view.nccl(), (std::vector<uint32_t>{22105, 0, 22809}));
    EXPECT_EQ(view.nccl_of(3), 22105U);
    EXPECT_EQ(view.nccl_of(1), 0U);
    EXPECT_EQ(view.nccl_of(2), 0U) << "not a member";
}

TEST(View, KnowsWhereItsMembersAreAndNobodyElse) {
    View view;
    view.members = {{1, 10, 7}, {3, 30, 2}};
    EXPECT_EQ(view.node_of(3), 30U);
    EXPECT_EQ(view.zone_of(3), 2U);
    EXPECT_EQ(view.zone_of(1), 7U);
    for (const control::Rank absent : {0U, 2U, 4U}) {
        EXPECT_EQ(view.node_of(absent), 0U);
        EXPECT_EQ(view.zone_of(absent), 0U);
    }
}

}  // namespace
}  // namespace pace::daemon
