// Messages of daemons, field by field; dispatcher_test has those of liars.
#include "service/controller/shell/message_reader.h"

#include <gtest/gtest.h>

#include "protocol/nccl.h"
#include "protocol/option_codec.h"
#include "protocol/version.h"

namespace pace::controller {
namespace {

namespace wire = protocol::control;

// The event that a node's message is.
template <typename Build>
Event event_of(NodeId node, Build build) {
    protocol::EnvelopeWriter writer;
    const auto body = build(writer.begin());
    const auto envelope = protocol::verify_envelope(writer.finish(node, 9, body));
    return read_event(**envelope, node).value().value();
}

// The hello of a node, with as much of it as matters here.
base::Result<Hello> hello_with(uint32_t nccl, bool hosted = false) {
    protocol::EnvelopeWriter writer;
    auto& b = writer.begin();
    const auto name = b.CreateString("a");
    const auto address = b.CreateVector(std::vector<uint8_t>{1, 2});
    const auto host = b.CreateString("machine");
    const auto zone = b.CreateString("rack-3");
    const auto hello =
        wire::CreateHello(b, protocol::kVersion, name, 7, address, host, 2, 0, zone, nccl, hosted);
    const auto envelope = protocol::verify_envelope(writer.finish(0, 9, hello));
    return read_hello(*(*envelope)->body_as_Hello());
}

TEST(MessageReader, AHelloTellsWhetherItsDaemonLivesInATrainersProcess) {
    EXPECT_TRUE(hello_with(0, true)->node.hosted);
    EXPECT_FALSE(hello_with(0, false)->node.hosted);
}

TEST(MessageReader, AHelloTellsTheZoneAndTheNcclOfItsNode) {
    const auto hello = hello_with(22105);
    ASSERT_TRUE(hello);
    EXPECT_EQ(hello->node.zone, "rack-3");
    EXPECT_EQ(hello->node.nccl, 22105U);
    EXPECT_EQ(hello_with(0)->node.nccl, 0U);
    EXPECT_EQ(hello_with(protocol::kNcclMax)->node.nccl, protocol::kNcclMax);
}

TEST(MessageReader, AnNcclThatIsNoneIsRefusedByItsNumber) {
    const auto hello = hello_with(protocol::kNcclMax + 1);
    ASSERT_FALSE(hello);
    EXPECT_EQ(hello.error().kind, base::ErrorKind::invalid);
    EXPECT_NE(hello.error().message.find("NCCL version 1000000 of node a"), std::string::npos);
}

TEST(MessageReader, AHeartbeatTellsAllAboutEachWorker) {
    const Event event = event_of(3, [](auto& b) {
        const auto report = wire::CreateWorkerReport(b, 1, 2, 3, 4, 5, true, 6);
        return wire::CreateHeartbeat(b, b.CreateVector(&report, 1));
    });
    const auto& heartbeat = std::get<Heartbeat>(event);
    EXPECT_EQ(heartbeat.node, 3U);
    ASSERT_EQ(heartbeat.workers.size(), 1U);
    const WorkerReport& report = heartbeat.workers[0];
    EXPECT_EQ(report.job, 1U);
    EXPECT_EQ(report.rank, 2U);
    EXPECT_EQ(report.iteration, 3U);
    EXPECT_EQ(report.rounds_submitted, 4U);
    EXPECT_EQ(report.busy_ms, 5U);
    EXPECT_TRUE(report.stopped);
    EXPECT_EQ(report.calls, 6U);
}

TEST(MessageReader, AHeartbeatTellsOfGroupsThatHaveEnded) {
    const Event event = event_of(3, [](auto& b) {
        const std::vector<uint32_t> members{2, 5};
        const std::vector<uint64_t> waited{4, 6};
        const auto whole = wire::CreateGroupReport(b, 1, 7, b.CreateVector(members), 8,
                                                   b.CreateVector(waited), 9, 10, 11, 12);
        const std::vector groups{whole, wire::CreateGroupReport(b, 1)};
        return wire::CreateHeartbeat(b, 0, b.CreateVector(groups));
    });
    const auto& heartbeat = std::get<Heartbeat>(event);
    ASSERT_EQ(heartbeat.groups.size(), 2U);
    const GroupReport& report = heartbeat.groups[0];
    EXPECT_EQ(report.job, 1U);
    EXPECT_EQ(report.group, 7U);
    EXPECT_EQ(report.members, (std::vector<Rank>{2, 5}));
    EXPECT_EQ(report.iteration, 8U);
    EXPECT_EQ(report.waited_ns, (std::vector<uint64_t>{4, 6}));
    EXPECT_EQ(report.moving_ns, 9U);
    EXPECT_EQ(report.bytes, 10U);
    EXPECT_EQ(report.ended_before_ns, 11U);
    EXPECT_EQ(report.left_out, 12U);
    EXPECT_TRUE(heartbeat.groups[1].members.empty());
    EXPECT_TRUE(heartbeat.groups[1].waited_ns.empty());
}

TEST(MessageReader, AHeartbeatTellsOfLinks) {
    const Event event = event_of(3, [](auto& b) {
        const auto link = wire::CreateLinkReport(b, 9, 25'000, 0.5);
        return wire::CreateHeartbeat(b, 0, 0, b.CreateVector(&link, 1));
    });
    const auto& heartbeat = std::get<Heartbeat>(event);
    ASSERT_EQ(heartbeat.links.size(), 1U);
    EXPECT_EQ(heartbeat.links[0].node, 9U);
    EXPECT_EQ(heartbeat.links[0].latency_ns, 25'000U);
    EXPECT_EQ(heartbeat.links[0].ns_per_byte, 0.5);
}

TEST(MessageReader, AJoinBringsItsOptions) {
    JobOptions asked;
    asked.name = "fashion";
    asked.world = 8;
    asked.policy = Policy::all_reduce;
    asked.quorum = Quorum::majority_strict;
    asked.staleness_max = 5;
    asked.compression = Compression::oktopk;
    asked.density = 0.5;
    asked.reject_nonfinite = true;
    const Event event = event_of(3, [&](auto& b) {
        const auto options = protocol::write_job_options(b, asked);
        return wire::CreateWorkerJoin(b, 1, 2, options, 1000);
    });
    EXPECT_EQ(std::get<WorkerJoin>(event).options, AskedOptions(asked));
}

}  // namespace
}  // namespace pace::controller
