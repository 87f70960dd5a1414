#include "service/controller/core/groups/group_history.h"

#include <gtest/gtest.h>

namespace pace::controller {
namespace {

using std::chrono::milliseconds;

constexpr TimePoint kBegin{std::chrono::seconds(1)};

void add_group(GroupHistory& history, GroupId group, uint32_t size) {
    GroupOrder order;
    order.group = group;
    std::vector<Signal> signals;
    for (Rank rank = 0; rank < size; ++rank) {
        order.members.push_back({rank, rank % 2, 0, 1});
        signals.push_back({rank, 7, 0, kBegin + milliseconds(rank)});
    }
    history.on_ordered(order, signals, kBegin + milliseconds(size));
}

std::vector<GroupId> kept(const GroupHistory& history) {
    std::vector<GroupId> groups;
    for (const GroupRecord& record : history.recent()) groups.push_back(record.order.group);
    return groups;
}

TEST(GroupHistory, KeepsTheLastGroups) {
    GroupHistory history(3, 1);
    EXPECT_TRUE(kept(history).empty());
    for (GroupId group = 10; group < 12; ++group) add_group(history, group, 2);
    EXPECT_EQ(kept(history), (std::vector<GroupId>{10, 11}));
    for (GroupId group = 12; group < 20; ++group) add_group(history, group, 2);
    EXPECT_EQ(kept(history), (std::vector<GroupId>{17, 18, 19}));
    history.on_ended(18, "the exchange failed", kBegin);
    history.on_ended(16, "forgotten", kBegin);  // forgotten
    EXPECT_FALSE(history.recent()[0].done);
    EXPECT_TRUE(history.recent()[1].failed);
    EXPECT_EQ(history.recent()[1].reason, "the exchange failed");
}

TEST(GroupHistory, KeepsFewerOfLargeGroups) {
    GroupHistory history(100, 1);
    const uint32_t third = GroupHistory::kMembersMax / 3;
    for (GroupId group = 1; group <= 250; ++group) add_group(history, group, 2);
    EXPECT_EQ(kept(history).size(), 100U);
    for (GroupId group = 251; group <= 260; ++group) add_group(history, group, third);
    EXPECT_EQ(kept(history), (std::vector<GroupId>{258, 259, 260}));
    add_group(history, 261, 4 * third);
    EXPECT_EQ(kept(history), (std::vector<GroupId>{261}));
    for (GroupId group = 262; group <= 400; ++group) add_group(history, group, 2);
    EXPECT_EQ(kept(history).size(), 100U);
    EXPECT_EQ(kept(history).front(), 301U);
    history.on_part_done(301, 5, 6);
    EXPECT_EQ(history.recent().front().bytes, 6U);
}

TEST(GroupHistory, EachMemberEndsOnce) {
    GroupHistory history(3, 1);
    add_group(history, 1, 4);
    history.on_member_ended(1, 1, kBegin + milliseconds(10));
    history.on_part_ended(1, 1, kBegin + milliseconds(20));
    history.on_part_ended(2, 1, kBegin + milliseconds(20));  // no such group
    history.on_member_ended(1, 77, kBegin);                  // no such member
    const auto times = history.recent().at(0).times;
    EXPECT_EQ(times[1].ended, kBegin + milliseconds(10));
    EXPECT_EQ(times[3].ended, kBegin + milliseconds(20));
    EXPECT_EQ(times[0].ended, std::nullopt);
    EXPECT_EQ(times[2].signalled, kBegin + milliseconds(2));
}

}  // namespace
}  // namespace pace::controller
