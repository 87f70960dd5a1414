// What the daemon says, as its controller reads it.
#include "daemon/control/outgoing.h"

#include <gtest/gtest.h>

#include "protocol/version.h"

namespace pace::daemon::control {
namespace {

namespace wire = protocol::control;

TEST(Outgoing, AHelloTellsAllOfTheNode) {
    Outgoing outgoing;
    outgoing.set_attachment(0, 8);
    const auto envelope = protocol::verify_envelope(
        outgoing.write(Hello{"a", 3, {std::byte{4}}, "host", 5, 6, "rack-7", 22105, true}));
    ASSERT_TRUE(envelope);
    const auto* hello = (*envelope)->body_as_Hello();
    ASSERT_NE(hello, nullptr);
    EXPECT_EQ(hello->version(), protocol::kVersion);
    EXPECT_EQ(hello->name()->str(), "a");
    EXPECT_EQ(hello->generation(), 3U);
    EXPECT_EQ(hello->address()->Get(0), 4U);
    EXPECT_EQ(hello->host()->str(), "host");
    EXPECT_EQ(hello->processors(), 5U);
    EXPECT_EQ(hello->node(), 6U);
    EXPECT_EQ(hello->zone()->str(), "rack-7");
    EXPECT_EQ(hello->nccl(), 22105U);
    EXPECT_TRUE(hello->hosted());
}

TEST(Outgoing, AHeartbeatTellsAllOfWorkersGroupsAndLinks) {
    WorkerReport report;
    report.job = 1;
    report.rank = 2;
    report.iteration = 3;
    report.rounds_submitted = 4;
    report.busy_ms = 5;
    report.stopped = true;
    report.calls = 6;
    Outgoing outgoing;
    outgoing.set_attachment(7, 8);
    const auto envelope = protocol::verify_envelope(
        outgoing.write(Heartbeat{.workers = {report, {}},
                                 .groups = {{1, 11, {2, 3}, 4, {5, 9}, 6, 7, 8, 10}},
                                 .links = {{9, 10, 0.5}}}));
    ASSERT_TRUE(envelope);
    EXPECT_EQ((*envelope)->attachment(), 8U);
    const auto* heartbeat = (*envelope)->body_as_Heartbeat();
    ASSERT_NE(heartbeat, nullptr);
    ASSERT_EQ(heartbeat->workers()->size(), 2U);
    const wire::WorkerReport& told = *heartbeat->workers()->Get(0);
    EXPECT_EQ(told.job(), 1U);
    EXPECT_EQ(told.rank(), 2U);
    EXPECT_EQ(told.iteration(), 3U);
    EXPECT_EQ(told.rounds_submitted(), 4U);
    EXPECT_EQ(told.busy_ms(), 5U);
    EXPECT_TRUE(told.stopped());
    EXPECT_EQ(told.calls(), 6U);
    ASSERT_EQ(heartbeat->groups()->size(), 1U);
    const wire::GroupReport& group = *heartbeat->groups()->Get(0);
    EXPECT_EQ(group.job(), 1U);
    EXPECT_EQ(group.group(), 11U);
    ASSERT_EQ(group.members()->size(), 2U);
    EXPECT_EQ(group.members()->Get(1), 3U);
    EXPECT_EQ(group.iteration(), 4U);
    ASSERT_EQ(group.waited_ns()->size(), 2U);
    EXPECT_EQ(group.waited_ns()->Get(1), 9U);
    EXPECT_EQ(group.moving_ns(), 6U);
    EXPECT_EQ(group.bytes(), 7U);
    EXPECT_EQ(group.ended_before_ns(), 8U);
    EXPECT_EQ(group.left_out(), 10U);
    ASSERT_EQ(heartbeat->links()->size(), 1U);
    const wire::LinkReport& link = *heartbeat->links()->Get(0);
    EXPECT_EQ(link.node(), 9U);
    EXPECT_EQ(link.latency_ns(), 10U);
    EXPECT_EQ(link.ns_per_byte(), 0.5);
}

}  // namespace
}  // namespace pace::daemon::control
