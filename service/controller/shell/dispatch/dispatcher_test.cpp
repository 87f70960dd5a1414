// Dispatcher: who may speak, and the effect of hostile bytes.
#include "service/controller/shell/dispatch/dispatcher_fixture.h"

#include "base/random.h"
#include "protocol/option_codec.h"

namespace pace::controller {
namespace {

using std::chrono::milliseconds;

TEST_F(DispatcherTest, ADaemonAttachesAndItsPeersGetToKnowIt) {
    const uint32_t a = attach("ra", 11, "a");
    const uint32_t b = attach("rb", 22, "b");
    EXPECT_NE(a, b);
    const Copy known = recorder_.take("ra", wire::Body::NodeKnown);
    EXPECT_EQ(known.envelope().node(), a);
    EXPECT_EQ(known.envelope().attachment(), 11U);
    EXPECT_EQ(known.envelope().body_as_NodeKnown()->node(), b);
    EXPECT_EQ(recorder_.take("rb", wire::Body::NodeKnown).envelope().body_as_NodeKnown()->node(),
              a);
}

TEST_F(DispatcherTest, TheSameHelloAgainIsAnsweredWithoutAttachingAgain) {
    const uint32_t a = attach("ra", 11, "a");
    const size_t notes = recorder_.notes.size();
    EXPECT_EQ(attach("ra", 11, "a"), a);
    EXPECT_EQ(recorder_.notes.size(), notes);
}

TEST_F(DispatcherTest, AStrangerIsToldSo) {
    say("rx", 5, 99, [](auto& builder) { return wire::CreateReady(builder, 1, 0, 0, 0); });
    const Copy reply = recorder_.take("rx", wire::Body::NotAttached);
    EXPECT_EQ(reply.envelope().attachment(), 99U);
    EXPECT_FALSE(reply.envelope().body_as_NotAttached()->excluded());
    EXPECT_EQ(dispatcher_.counters().unattached, 1U);
}

TEST_F(DispatcherTest, NobodySpeaksForAnother) {
    const uint32_t a = attach("ra", 11, "a");
    attach("rb", 22, "b");
    // b knows a's node id, perhaps even its number, but not its connection.
    say("rb", a, 11, [](auto& builder) { return wire::CreateGoodbye(builder); });
    EXPECT_EQ(recorder_.count("rb", wire::Body::NotAttached), 1U);
    EXPECT_NE(dispatcher_.attachments().find(a), nullptr);
}

TEST_F(DispatcherTest, AnotherProtocolVersionIsRefusedNamingBoth) {
    hello("ra", 11, "a", 1, protocol::kVersion + 41);
    const Copy reply = recorder_.take("ra", wire::Body::Refused);
    const auto* refused = reply.envelope().body_as_Refused();
    EXPECT_EQ(refused->error()->kind(), static_cast<int32_t>(base::ErrorKind::version));
    EXPECT_NE(refused->error()->message()->str().find(std::to_string(protocol::kVersion + 41)),
              std::string::npos);
    EXPECT_NE(
        refused->error()->message()->str().find("version " + std::to_string(protocol::kVersion)),
        std::string::npos);
}

TEST_F(DispatcherTest, ADaemonOfTheReleaseAfterIsToldWhatBothSpeak) {
    hello("ra", 11, "a", 1, protocol::kVersion + 1, {}, protocol::kVersion);
    const Copy reply = recorder_.take("ra", wire::Body::Attached);
    ASSERT_FALSE(reply.bytes.empty());
    EXPECT_EQ(reply.envelope().body_as_Attached()->version(), protocol::kVersion);
}

TEST_F(DispatcherTest, ABadNodeNameIsRefused) {
    for (const std::string& name : {std::string(), std::string(64, 'x'), std::string("a b"),
                                    std::string("a\n"), std::string("\xff\xfe")}) {
        hello("ra", 11, name);
        const Copy reply = recorder_.take("ra", wire::Body::Refused);
        EXPECT_EQ(reply.envelope().body_as_Refused()->error()->kind(),
                  static_cast<int32_t>(base::ErrorKind::invalid));
    }
}

TEST_F(DispatcherTest, ABadZoneIsRefusedByName) {
    for (const std::string& zone :
         {std::string(64, 'x'), std::string("rack 3"), std::string("a\n")}) {
        hello("ra", 11, "a", 1, protocol::kVersion, zone);
        const Copy reply = recorder_.take("ra", wire::Body::Refused);
        const auto* refused = reply.envelope().body_as_Refused();
        EXPECT_EQ(refused->error()->kind(), static_cast<int32_t>(base::ErrorKind::invalid));
        EXPECT_NE(refused->error()->message()->str().find("the zone \""), std::string::npos);
    }
    hello("ra", 11, "a", 1, protocol::kVersion, "dc1/row-2/rack_3.b");
    EXPECT_FALSE(recorder_.take("ra", wire::Body::Attached).bytes.empty());
}

TEST_F(DispatcherTest, ALivingNamesakeKeepsItsName) {
    const uint32_t a = attach("ra", 11, "a");
    hello("rb", 22, "a", 2);
    const Copy reply = recorder_.take("rb", wire::Body::Refused);
    EXPECT_EQ(reply.envelope().body_as_Refused()->error()->kind(),
              static_cast<int32_t>(base::ErrorKind::taken));
    EXPECT_EQ(dispatcher_.attachments().find(a)->route, "ra");
}

TEST_F(DispatcherTest, ASilentNamesakeLosesItsName) {
    const uint32_t a = attach("ra", 11, "a");
    now_ += milliseconds(1500);
    hello("rb", 22, "a", 2);
    EXPECT_EQ(recorder_.take("rb", wire::Body::Attached).envelope().node(), a);
    EXPECT_EQ(dispatcher_.attachments().find(a)->route, "rb");
}

TEST_F(DispatcherTest, ADaemonThatWasKilledAndStartedAgainHasItsNameAtOnce) {
    const uint32_t a = attach("ra", 11, "a");
    recorder_.gone.insert("ra");
    hello("rb", 22, "a", 2);
    EXPECT_EQ(recorder_.take("rb", wire::Body::Attached).envelope().node(), a);
}

TEST_F(DispatcherTest, TheSameDaemonMayReconnectAtOnce) {
    const uint32_t a = attach("ra", 11, "a");
    EXPECT_EQ(attach("rb", 12, "a"), a);
    say("ra", a, 11, [](auto& builder) { return wire::CreateHeartbeat(builder); });
    EXPECT_EQ(recorder_.count("ra", wire::Body::NotAttached), 1U);
}

TEST_F(DispatcherTest, OneConnectionSpeaksForOneNode) {
    const uint32_t a = attach("ra", 11, "a");
    attach("ra", 12, "b");
    EXPECT_EQ(dispatcher_.attachments().find(a), nullptr);
    EXPECT_EQ(dispatcher_.attachments().attached(), 1U);
}

TEST_F(DispatcherTest, NamesAreBounded) {
    for (int i = 0; i < 4; ++i) attach("r" + std::to_string(i), 10, "n" + std::to_string(i));
    hello("r9", 10, "n9");
    EXPECT_EQ(
        recorder_.take("r9", wire::Body::Refused).envelope().body_as_Refused()->error()->kind(),
        static_cast<int32_t>(base::ErrorKind::limit));
}

TEST_F(DispatcherTest, EachHeartbeatIsAnswered) {
    const uint32_t a = attach("ra", 11, "a");
    say("ra", a, 11, [](auto& builder) { return wire::CreateHeartbeat(builder, 0, 0, 0, 7); });
    ASSERT_EQ(recorder_.count("ra", wire::Body::Attached), 1U);
    const Copy answer = recorder_.take("ra", wire::Body::Attached);
    EXPECT_EQ(answer.envelope().body_as_Attached()->number(), 7U);
}

TEST_F(DispatcherTest, DaemonsAreToldHowLongTheyMayBeSilentAtLeast) {
    hello("ra", 11, "a");
    const Copy attached = recorder_.take("ra", wire::Body::Attached);
    EXPECT_EQ(attached.envelope().body_as_Attached()->silence_min_ms(),
              CoreOptions{}.liveness_min / std::chrono::milliseconds(1));
}

TEST_F(DispatcherTest, AnExcludedDaemonIsToldSoForAsLongAsItUsesTheOldAttachment) {
    const uint32_t a = attach("ra", 11, "a");
    attach("rb", 22, "b");
    // a falls silent; b does not.
    for (int i = 0; i < 100; ++i) {
        now_ += milliseconds(100);
        say("rb", dispatcher_.attachments().find_name("b"), 22,
            [](auto& builder) { return wire::CreateHeartbeat(builder); });
        dispatcher_.tick(now_);
    }
    const Copy told = recorder_.take("ra", wire::Body::NotAttached);
    EXPECT_TRUE(told.envelope().body_as_NotAttached()->excluded());
    EXPECT_EQ(recorder_.count("rb", wire::Body::NodeGone), 1U);

    say("ra", a, 11, [](auto& builder) { return wire::CreateHeartbeat(builder); });
    EXPECT_TRUE(
        recorder_.take("ra", wire::Body::NotAttached).envelope().body_as_NotAttached()->excluded());
    EXPECT_EQ(attach("ra", 12, "a"), a);
}

TEST_F(DispatcherTest, ANodeThatCannotBeReachedIsLostNotForgiven) {
    const uint32_t a = attach("ra", 11, "a");
    const uint32_t b = attach("rb", 22, "b");
    recorder_.gone.insert("rb");
    attach("rc", 33, "c");  // b should be told
    EXPECT_EQ(dispatcher_.attachments().find(b), nullptr);
    EXPECT_NE(dispatcher_.attachments().find(a), nullptr);
    EXPECT_EQ(recorder_.take("ra", wire::Body::NodeGone).envelope().body_as_NodeGone()->node(), b);
    EXPECT_GE(dispatcher_.counters().undeliverable, 1U);
}

TEST_F(DispatcherTest, ReadySignalsBecomeOneOrderPerNode) {
    const uint32_t a = attach("ra", 11, "a");
    const uint32_t b = attach("rb", 22, "b");
    join("ra", a, 11, 0, 5);
    join("rb", b, 22, 1, 6);
    const uint32_t job =
        recorder_.take("ra", wire::Body::JoinAccepted).envelope().body_as_JoinAccepted()->job();
    const auto prepare = recorder_.take("ra", wire::Body::PrepareView);
    const uint64_t epoch = prepare.envelope().body_as_PrepareView()->epoch();
    const auto prepared = [&](auto& builder) {
        return wire::CreateViewPrepared(builder, job, epoch, 0);
    };
    say("ra", a, 11, prepared);
    say("rb", b, 22, prepared);
    EXPECT_EQ(recorder_.count("ra", wire::Body::CommitView), 1U);
    // The node in an event is the attachment's. Rank 1 is on b, so a cannot speak for rank 1.
    say("ra", a, 11, [&](auto& builder) { return wire::CreateReady(builder, job, 0, 0, 9); });
    say("ra", a, 11, [&](auto& builder) { return wire::CreateReady(builder, job, 1, 0, 9); });
    EXPECT_EQ(recorder_.count("ra", wire::Body::GroupOrder), 0U);
    say("rb", b, 22, [&](auto& builder) { return wire::CreateReady(builder, job, 1, 0, 9); });
    const Copy order = recorder_.take("ra", wire::Body::GroupOrder);
    EXPECT_EQ(order.envelope().attachment(), 11U);
    EXPECT_EQ(order.envelope().body_as_GroupOrder()->members()->size(), 2U);
    EXPECT_EQ(recorder_.count("ra", wire::Body::GroupOrder), 0U);
    EXPECT_EQ(recorder_.count("rb", wire::Body::GroupOrder), 1U);
    EXPECT_FALSE(recorder_.journal.empty());
}

TEST_F(DispatcherTest, AFailedJournalRefusesNewJobsAndServesTheOldOnes) {
    const uint32_t a = attach("ra", 11, "a");
    join("ra", a, 11, 0, 5, "old");
    recorder_.take("ra", wire::Body::JoinAccepted);

    recorder_.failure = base::Error{base::ErrorKind::disk, "no space"};
    join("ra", a, 11, 0, 6, "new");
    const Copy refused = recorder_.take("ra", wire::Body::JoinRefused);
    EXPECT_EQ(refused.envelope().body_as_JoinRefused()->error()->kind(),
              static_cast<int32_t>(base::ErrorKind::disk));
    EXPECT_EQ(refused.envelope().body_as_JoinRefused()->request(), 6U);
    join("ra", a, 11, 1, 7, "old");
    EXPECT_EQ(
        recorder_.take("ra", wire::Body::JoinAccepted).envelope().body_as_JoinAccepted()->request(),
        7U);

    // Its journal is lost, and its daemon knows it: it would only be forgotten again.
    resume("ra", a, 11, 0, 9);
    EXPECT_EQ(
        recorder_.take("ra", wire::Body::JoinAccepted).envelope().body_as_JoinAccepted()->request(),
        9U);

    recorder_.failure.reset();
    join("ra", a, 11, 0, 8, "new");
    recorder_.take("ra", wire::Body::JoinAccepted);
}

TEST_F(DispatcherTest, AnUnknownPolicyIsRefusedToItsAsker) {
    const uint32_t a = attach("ra", 11, "a");
    join("ra", a, 11, 0, 5, "fashion", 77);
    const Copy refused = recorder_.take("ra", wire::Body::JoinRefused);
    EXPECT_EQ(refused.envelope().body_as_JoinRefused()->request(), 5U);
}

TEST_F(DispatcherTest, StatusNeedsNoAttachment) {
    say("rx", 0, 0, [](auto& builder) { return wire::CreateStatusRequest(builder, 17); });
    EXPECT_EQ(
        recorder_.take("rx", wire::Body::StatusReply).envelope().body_as_StatusReply()->request(),
        17U);
}

TEST_F(DispatcherTest, WhatOnlyAControllerSaysIsCountedAndDropped) {
    const uint32_t a = attach("ra", 11, "a");
    say("ra", a, 11, [](auto& builder) { return wire::CreatePrepareView(builder, 1, 1); });
    EXPECT_EQ(dispatcher_.counters().malformed, 1U);
    dispatcher_.receive("ra", {}, now_);
    EXPECT_EQ(dispatcher_.counters().malformed, 2U);
}

// Messages of every kind that a daemon can send.
std::vector<std::vector<std::byte>> messages_of(uint32_t node, uint64_t number) {
    std::vector<std::vector<std::byte>> messages;
    const auto keep = [&](auto build) {
        protocol::EnvelopeWriter writer;
        const auto body = build(writer.begin());
        const auto bytes = writer.finish(node, number, body);
        messages.emplace_back(bytes.begin(), bytes.end());
    };
    keep([](auto& b) { return wire::CreateReady(b, 1, 0, 3, 4); });
    keep([](auto& b) {
        return wire::CreateGroupDone(b, 1, 2, true, 3, 4, b.CreateString("because"));
    });
    keep([](auto& b) { return wire::CreateLinkCut(b, 1, true, 2000); });
    keep([](auto& b) { return wire::CreateStalled(b, 1, b.CreateVector(std::vector{1U, 2U})); });
    keep([](auto& b) { return wire::CreatePeerLost(b, 1, b.CreateString("because")); });
    keep([](auto& b) {
        const auto report = wire::CreateWorkerReport(b, 1, 0, 5, 6, 7, true, 8);
        return wire::CreateHeartbeat(b, b.CreateVector(&report, 1));
    });
    keep([](auto& b) {
        JobOptions options;
        options.name = "fashion";
        options.world = 4;
        const auto table = protocol::write_job_options(b, options);
        return wire::CreateWorkerJoin(b, 1, 0, table, 1000, true, 1, 1, 1);
    });
    return messages;
}

// Every kind of message that a daemon can send, from a trusted connection, with every bit flipped.
TEST_F(DispatcherTest, FlippedBitsFromAnAttachedDaemonDoNoHarm) {
    const uint32_t a = attach("ra", 11, "a");
    const auto messages = messages_of(a, 11);
    base::Random random(3);
    for (const auto& message : messages) {
        for (size_t bit = 0; bit < message.size() * 8; ++bit) {
            auto flipped = message;
            flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            dispatcher_.receive("ra", flipped, now_);
        }
        for (int round = 0; round < 2000; ++round) {
            auto mangled = message;
            for (int i = 0; i < 4; ++i)
                mangled[random.below(mangled.size())] = static_cast<std::byte>(random.below(256));
            dispatcher_.receive("ra", mangled, now_);
        }
    }
    EXPECT_GT(dispatcher_.counters().malformed, 0U);
}

TEST_F(DispatcherTest, LosesTheNodeForWhoseMessageThereIsNoMemoryAndTakesItAgain) {
    const uint32_t node = attach("a", 7, "one");
    const uint32_t other = attach("b", 8, "two");
    recorder_.starved = true;
    join("a", node, 7, 0, 1);
    EXPECT_FALSE(recorder_.starved);
    EXPECT_EQ(dispatcher_.attachments().attached(), 1U);
    EXPECT_NE(dispatcher_.attachments().find(other), nullptr);
    EXPECT_EQ(attach("a", 9, "one"), node);
    join("a", node, 9, 0, 2);
    recorder_.take("a", wire::Body::JoinAccepted);
}

}  // namespace
}  // namespace pace::controller
