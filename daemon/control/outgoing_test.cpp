// What the daemon says, as its controller reads it.
#include "daemon/control/outgoing.h"

#include <gtest/gtest.h>

namespace pace::daemon::control {
namespace {

namespace wire = protocol::control;

TEST(Outgoing, AHeartbeatTellsAllAboutEachWorker) {
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
    const auto envelope = protocol::verify_envelope(outgoing.write(std::vector{report, {}}));
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
}

}  // namespace
}  // namespace pace::daemon::control
