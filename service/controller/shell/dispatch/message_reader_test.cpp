// Message reader: messages of daemons, field by field; dispatcher_test tests hostile ones.
#include "service/controller/shell/dispatch/message_reader.h"

#include <gtest/gtest.h>

#include "protocol/nccl.h"
#include "protocol/options/limits.h"
#include "protocol/version.h"

namespace pace::controller {
namespace {

// Returns the event that the controller reads from a daemon's message.
template <typename Message>
Message said(const Message& message) {
    protocol::EnvelopeWriter writer;
    const auto envelope = protocol::verify_envelope(writer.write(3, 9, message));
    const auto event = std::get<From<Message>>(read_event(**envelope, 3).value().value());
    EXPECT_EQ(event.node, 3U);
    return event;
}

base::Result<Hello> hello_with(uint32_t nccl, bool hosted = false) {
    const Hello hello{.version = protocol::kVersion,
                      .name = "a",
                      .generation = 7,
                      .address = {std::byte{1}, std::byte{2}},
                      .host = "machine",
                      .processors = 2,
                      .last_id = 4,
                      .zone = "rack-3",
                      .nccl = nccl,
                      .hosted = hosted};
    protocol::EnvelopeWriter writer;
    const auto envelope = protocol::verify_envelope(writer.write(0, 9, hello));
    auto read = read_hello(*(*envelope)->body_as_Hello());
    EXPECT_TRUE(!read || *read == hello);
    return read;
}

TEST(MessageReader, AHelloTellsWhetherItsDaemonLivesInATrainersProcess) {
    EXPECT_TRUE(hello_with(0, true)->hosted);
    EXPECT_FALSE(hello_with(0, false)->hosted);
}

TEST(MessageReader, AHelloTellsTheZoneAndTheNcclOfItsNode) {
    const auto hello = hello_with(22105);
    ASSERT_TRUE(hello);
    EXPECT_EQ(hello->zone, "rack-3");
    EXPECT_EQ(hello->nccl, 22105U);
    EXPECT_EQ(hello_with(0)->nccl, 0U);
    EXPECT_EQ(hello_with(protocol::kNcclMax)->nccl, protocol::kNcclMax);
}

TEST(MessageReader, AnNcclThatIsNoneIsRefusedByItsNumber) {
    const auto hello = hello_with(protocol::kNcclMax + 1);
    ASSERT_FALSE(hello);
    EXPECT_EQ(hello.error().kind, base::ErrorKind::invalid);
    EXPECT_NE(hello.error().message.find("NCCL version 1000000 of node a"), std::string::npos);
}

TEST(MessageReader, AHeartbeatArrivesAsItWasSaid) {
    const Heartbeat heartbeat{.workers = {{1, 2, 3, 4, 5, true, 6, 7}, {}},
                              .groups = {{1, 7, {2, 5}, 8, {4, 6}, 9, 10, 11, 12}, {1}},
                              .links = {{9, 25'000, 0.5}},
                              .number = 4,
                              .machine = {64, 16, {{"H100", 80, true, 3}, {}}}};
    EXPECT_EQ(said(heartbeat), heartbeat);
    Heartbeat progress{.workers = {{1, 2}}};
    progress.workers[0].steps_done = 3;
    progress.workers[0].steps_total = 4;
    progress.workers[0].steps_told_us = 5;
    progress.workers[0].has_residual = true;
    progress.workers[0].residual_bytes = 6;
    progress.workers[0].residual_exchanges = 7;
    EXPECT_EQ(said(progress), progress);
    const Heartbeat long_name{.machine = {64, 16, {{std::string(100, 'x'), 80, false, 0}}}};
    EXPECT_EQ(said(long_name).machine.gpus[0].name, std::string(protocol::kGpuNameBytesMax, 'x'));
}

TEST(MessageReader, EverythingThatADaemonSaysArrivesAsItWasSaid) {
    JobOptions asked;
    asked.name = "fashion";
    asked.world = 8;
    asked.policy = Policy::all_reduce;
    asked.quorum = Quorum::majority_strict;
    asked.staleness_max = 5;
    asked.compression = Compression::oktopk;
    asked.density = 0.5;
    asked.reject_nonfinite = true;
    const WorkerJoin join{1, 2, asked, 1000, true, 3, 4, 5, {"run", 6}, 7, Rerun::never};
    EXPECT_EQ(said(join), join);
    const ServerLedger ledger{9, 3, 7, {{0, 3, 8, 0}, {1, 2, 7, 9}}, {{8, 2}}};
    const ServerEntry entry{8, ServerStep::pull, 2, 7, 0.5, {5, 6}, 2, {1, 2, 7, 9}, 10, 20};
    const ViewPrepared prepared{
        .job = 1,
        .epoch = 2,
        .completed = 3,
        .round_epoch = 4,
        .result_epoch = 5,
        .server = {6, {1, 2}, {0}, ledger, {entry}, {{7, 6, 2, {1}, ledger}}, true},
        .newer_epoch = 7,
        .without_model = {1, 3}};
    EXPECT_EQ(said(prepared), prepared);
    const Ready ready{1, 2, 3, 4, ReadyStage::arrived};
    EXPECT_EQ(said(ready), ready);
    EXPECT_EQ(said(Stalled{}), Stalled{});
}

TEST(MessageReader, AChoiceThatIsNoneIsRefused) {
    Ready ready{1, 2, 3, 4, static_cast<ReadyStage>(3)};
    protocol::EnvelopeWriter writer;
    const auto event = read_event(**protocol::verify_envelope(writer.write(3, 9, ready)), 3);
    ASSERT_FALSE(event);
    EXPECT_EQ(event.error().kind, base::ErrorKind::invalid);
    EXPECT_EQ(event.error().message, "stage has the value 3, which this side does not know");
}

TEST(MessageReader, ACheckpointInTooManyShardsIsRefused) {
    ViewPrepared prepared;
    protocol::EnvelopeWriter writer;
    for (const uint32_t shards : {0U, protocol::kShardsMax + 1}) {
        prepared.server.saved = {{.token = 7, .generation = 6, .shards = shards}};
        EXPECT_FALSE(read_event(**protocol::verify_envelope(writer.write(3, 9, prepared)), 3));
    }
}

}  // namespace
}  // namespace pace::controller
