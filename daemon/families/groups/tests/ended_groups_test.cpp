#include "daemon/families/groups/ended_groups.h"

#include <gtest/gtest.h>

namespace pace::daemon {
namespace {

std::vector<control::GroupReport> taken(EndedGroups& groups, uint64_t now_ns) {
    std::vector<control::GroupReport> reports;
    groups.take(3, now_ns, reports);
    return reports;
}

control::GroupReport of_members(uint64_t group, size_t members) {
    control::GroupReport report;
    report.group = group;
    report.members.resize(members);
    return report;
}

TEST(EndedGroups, AreToldOnceAndHowLongAgoTheyEnded) {
    EndedGroups groups;
    EXPECT_TRUE(taken(groups, 0).empty());
    groups.add(of_members(7, 2), true, 100);
    groups.add(of_members(8, 3), false, 150);
    const auto reports = taken(groups, 160);
    ASSERT_EQ(reports.size(), 2U);
    EXPECT_EQ(reports[0].group, 7U);
    EXPECT_EQ(reports[0].job, 3U);
    EXPECT_EQ(reports[0].ended_before_ns, 60U);
    EXPECT_EQ(reports[1].ended_before_ns, 10U);
    EXPECT_EQ(reports[0].left_out, 0U);
    EXPECT_TRUE(taken(groups, 170).empty());
}

TEST(EndedGroups, OfManyTheLatestAreToldAndTheOthersThatCountHereCounted) {
    EndedGroups groups;
    for (uint64_t group = 0; group < EndedGroups::kGroupsMax + 10; ++group)
        groups.add(of_members(group, 1), group % 2 == 0, group);
    const auto reports = taken(groups, 1000);
    ASSERT_EQ(reports.size(), EndedGroups::kGroupsMax);
    EXPECT_EQ(reports.front().group, 10U);
    EXPECT_EQ(reports.front().left_out, 5U);
    EXPECT_EQ(reports.back().left_out, 0U);
    groups.add(of_members(1, 1), true, 1001);
    EXPECT_EQ(taken(groups, 1002).front().left_out, 0U) << "told already";
}

TEST(EndedGroups, OfLargeOnesFewerAreKeptAndOneAlways) {
    EndedGroups groups;
    const size_t half = EndedGroups::kMembersMax / 2;
    for (uint64_t group = 0; group < 5; ++group) groups.add(of_members(group, half), true, 0);
    EXPECT_EQ(taken(groups, 0).size(), 2U);
    groups.add(of_members(1, 3 * half), true, 0);
    EXPECT_EQ(taken(groups, 0).size(), 1U);
    groups.add(of_members(2, 1), true, 0);
    EXPECT_EQ(taken(groups, 0).front().left_out, 0U);
}

}  // namespace
}  // namespace pace::daemon
