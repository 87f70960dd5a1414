// Reported groups: their history and statistics, by worked numbers, and which reports are ignored.
#include <algorithm>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"
#include "service/controller/core/groups/components.h"
#include "service/controller/core/tests/core_fixture.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kMs = 1'000'000;

JobOptions in_static_groups(uint32_t world) {
    JobOptions options;
    options.name = "job";
    options.world = world;
    options.policy = Policy::prague_static;
    return options;
}

class ReportedGroupsTest : public ::testing::Test, public CoreFixture {
  protected:
    ReportedGroupsTest() : nodes_(start(in_static_groups(4), 2)) {}

    void tell(NodeId node, GroupReport report) {
        report.job = 1;
        send(from(node, Heartbeat{.workers = {}, .groups = {std::move(report)}}));
    }

    std::vector<NodeId> nodes_;
};

// Both are on one node: rank 0 waits 30 ms for rank 1, they exchange for 4 ms, and the daemon
// reports 2 ms later.
TEST_F(ReportedGroupsTest, AGroupOfOneNodeIsLikeAnOrderedOne) {
    pass(milliseconds(100));
    tell(nodes_[0], {.group = 7,
                     .members = {0, 1},
                     .iteration = 5,
                     .waited_ns = {30 * kMs, 0},
                     .moving_ns = 4 * kMs,
                     .bytes = 10,
                     .ended_before_ns = 2 * kMs});
    const JobView view = job();
    ASSERT_EQ(view.recent_groups.size(), 1U);
    const GroupRecord& record = view.recent_groups[0];
    EXPECT_TRUE(record.done);
    EXPECT_EQ(record.order.iteration, 5U);
    EXPECT_EQ(record.order.epoch, view.epoch);
    ASSERT_EQ(record.order.members.size(), 2U);
    EXPECT_EQ(record.order.members[1].rank, 1U);
    EXPECT_EQ(record.order.members[1].node, nodes_[0]);
    EXPECT_EQ(record.order.members[1].weight, 0.5);
    EXPECT_EQ(record.ended, now() - milliseconds(2));
    EXPECT_EQ(record.ordered, now() - milliseconds(6));
    EXPECT_EQ(record.times[0].signalled, now() - milliseconds(36));
    EXPECT_EQ(record.times[1].signalled, now() - milliseconds(6));
    EXPECT_EQ(record.times[1].ended, now() - milliseconds(2));
    EXPECT_EQ(record.moving_ns, 4 * kMs);
    EXPECT_EQ(record.bytes, 10U);
    EXPECT_EQ(view.groups_ordered, 1U);
    EXPECT_EQ(view.groups_completed, 1U);
    EXPECT_DOUBLE_EQ(view.waited.total_s, 0.030);
    EXPECT_DOUBLE_EQ(view.exchanged.total_s, 0.008);
    EXPECT_DOUBLE_EQ(view.workers[0].waited.total_s, 0.030);
    EXPECT_DOUBLE_EQ(view.workers[1].exchanged.total_s, 0.004);
    EXPECT_EQ(view.workers[2].exchanged.total_s, 0);
}

// Rank 0 calls 20 ms before rank 2 on the other node. The other node reports first.
TEST_F(ReportedGroupsTest, TheNodesOfAGroupTellOfTheirPartsOfIt) {
    pass(milliseconds(100));
    tell(nodes_[1], {.group = 7,
                     .members = {0, 2},
                     .iteration = 5,
                     .waited_ns = {0},
                     .moving_ns = 3 * kMs,
                     .bytes = 10,
                     .ended_before_ns = 1 * kMs});
    EXPECT_EQ(job().groups_completed, 0U) << "the first member's node counts it";
    const TimePoint ended = now() - milliseconds(1);
    pass(milliseconds(10));
    tell(nodes_[0], {.group = 7,
                     .members = {0, 2},
                     .iteration = 5,
                     .waited_ns = {0},
                     .moving_ns = 23 * kMs,
                     .bytes = 12,
                     .ended_before_ns = 11 * kMs});
    const JobView view = job();
    EXPECT_EQ(view.groups_completed, 1U);
    ASSERT_EQ(view.recent_groups.size(), 1U);
    const GroupRecord& record = view.recent_groups[0];
    EXPECT_EQ(record.ordered, ended - milliseconds(3));
    EXPECT_EQ(record.times[0].signalled, ended - milliseconds(23));
    EXPECT_EQ(record.times[1].signalled, ended - milliseconds(3));
    EXPECT_EQ(record.times[0].ended, ended);
    EXPECT_EQ(record.bytes, 22U);
    EXPECT_EQ(record.moving_ns, 23 * kMs);
}

TEST_F(ReportedGroupsTest, WhatIsLeftOutIsCounted) {
    tell(nodes_[0], {.group = 7, .members = {0}, .waited_ns = {0}, .left_out = 40});
    EXPECT_EQ(job().groups_completed, 41U);
    EXPECT_EQ(job().groups_ordered, 41U);
    EXPECT_EQ(job().recent_groups.size(), 1U);
}

TEST_F(ReportedGroupsTest, TheGapAndTheComponentsAreOfTheGroups) {
    EXPECT_EQ(job().sync_components, 4U);
    tell(nodes_[0], {.group = 1, .members = {0, 1}, .waited_ns = {0, 0}});
    tell(nodes_[1], {.group = 2, .members = {2, 3}, .waited_ns = {0, 0}});
    EXPECT_EQ(job().sync_components, 2U);
    EXPECT_NEAR(job().spectral_gap, 1, 1e-9);
    tell(nodes_[0], {.group = 3, .members = {0, 2}, .waited_ns = {0}});
    EXPECT_EQ(job().sync_components, 1U);
    EXPECT_LT(job().spectral_gap, 0.99);
    // A worker that is gone connects nobody, and is no component of its own.
    send(from(nodes_[0], WorkerLeave{1, 0, true}));
    EXPECT_EQ(job().sync_components, 2U);
}

TEST_F(ReportedGroupsTest, TheProgressIsTheIteration) {
    send(from(nodes_[0], Heartbeat{{{.job = 1, .rank = 0, .iteration = 9}}}));
    send(from(nodes_[1], Heartbeat{{{.job = 1, .rank = 3, .iteration = 4}}}));
    EXPECT_EQ(job().progress->most, 9U);
    EXPECT_EQ(job().progress->first, 0U);
}

// Reports that a daemon of sense would not make.
std::vector<GroupReport> senseless(const GroupReport& good) {
    const uint64_t huge = std::numeric_limits<uint64_t>::max();
    const auto altered = [&](const std::function<void(GroupReport&)>& alter) {
        GroupReport report = good;
        alter(report);
        return report;
    };
    return {
        altered([](GroupReport& r) { r.members.clear(); }),
        altered([](GroupReport& r) {
            r.members = {2, 0};
        }),
        altered([](GroupReport& r) {
            r.members = {0, 0};
        }),
        altered([](GroupReport& r) {
            r.members = {0, 4};
        }),
        altered([](GroupReport& r) {
            r.members = {0, ~Rank{0}};
        }),
        altered([](GroupReport& r) {
            r.members = {2, 3};
        }),  // not members on this node
        altered([](GroupReport& r) { r.waited_ns.clear(); }),
        altered([](GroupReport& r) {
            r.waited_ns = {1, 2};
        }),
        altered([&](GroupReport& r) { r.waited_ns = {huge}; }),
        altered([&](GroupReport& r) { r.moving_ns = huge; }),
        altered([&](GroupReport& r) { r.ended_before_ns = huge; }),
        altered([&](GroupReport& r) { r.left_out = huge; }),
    };
}

TEST_F(ReportedGroupsTest, WhatCannotBeTrueIsIgnored) {
    const GroupReport good{.group = 7, .members = {0, 2}, .waited_ns = {0}};
    for (const GroupReport& report : senseless(good)) tell(nodes_[0], report);
    tell(nodes_[1] + 7, good);
    EXPECT_TRUE(job().recent_groups.empty());
    EXPECT_EQ(job().groups_completed, 0U);
    tell(nodes_[0], good);
    tell(nodes_[0], good);  // repeated
    EXPECT_EQ(job().recent_groups.size(), 1U);
    EXPECT_EQ(job().groups_completed, 1U);
}

TEST(ReportedGroups, AreIgnoredForAJobWhoseGroupsAreOrderedOrThatHasNone) {
    for (const JobOptions& options : {averaging(2), reducing(2)}) {
        CoreFixture f;
        const auto nodes = f.start(options);
        const GroupReport report{.job = 1, .group = 7, .members = {0, 1}, .waited_ns = {0}};
        f.send(from(nodes[0], Heartbeat{.workers = {}, .groups = {report}}));
        GroupReport of_nobody = report;
        of_nobody.job = 77;
        f.send(from(nodes[0], Heartbeat{.workers = {}, .groups = {of_nobody}}));
        EXPECT_TRUE(f.job().recent_groups.empty());
        EXPECT_EQ(f.job().groups_completed, 0U);
    }
}

// After any report by any node, the status makes sense.
TEST(ReportedGroups, OfNonsenseComesNoSenselessRecord) {
    constexpr uint32_t kWorld = 6;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        base::Random random(seed);
        CoreFixture f;
        f.start(in_static_groups(kWorld), 2);
        const auto number = [&] { return random.below(8) == 0 ? random.next() : random.below(99); };
        for (int step = 0; step < 3000; ++step) {
            GroupReport report{.job = 1,
                               .group = random.below(500),
                               .members = {},
                               .iteration = number(),
                               .waited_ns = {},
                               .moving_ns = number(),
                               .bytes = number(),
                               .ended_before_ns = number(),
                               .left_out = random.below(3)};
            for (Rank rank = 0; rank < kWorld + 1; ++rank)
                if (random.below(3) == 0) report.members.push_back(rank);
            for (size_t i = random.below(4); i > 0; --i) report.waited_ns.push_back(number());
            const auto node = static_cast<NodeId>(random.below(5));
            f.send(from(node, Heartbeat{.workers = {}, .groups = {std::move(report)}}));
            f.pass(std::chrono::microseconds(random.below(50)));
        }
        const JobView view = f.job();
        EXPECT_FALSE(view.recent_groups.empty());
        EXPECT_GE(view.groups_completed, 100U);
        for (const GroupRecord& record : view.recent_groups) {
            EXPECT_LE(record.ended, f.now());
            for (size_t i = 0; i < record.times.size(); ++i) {
                EXPECT_LT(record.order.members[i].rank, kWorld);
                EXPECT_LE(record.times[i].signalled, record.ordered);
                EXPECT_TRUE(record.times[i].ended);
            }
        }
    }
}

TEST(Components, AreOfWorkersThatMetDirectlyOrThroughOthers) {
    EXPECT_EQ(components(0, {}), 0U);
    EXPECT_EQ(components(3, {}), 3U);
    EXPECT_EQ(components(5, {{0, 1}, {3, 4}, {2}}), 3U);
    EXPECT_EQ(components(5, {{0, 1}, {3, 4}, {1, 3}, {0, 4}}), 2U);
    EXPECT_EQ(components(4, {{0, 1, 2, 3}, {0, 1}}), 1U);
}

}  // namespace
}  // namespace pace::controller
