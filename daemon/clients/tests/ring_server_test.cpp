#include "daemon/clients/ring_server.h"

#include <unistd.h>

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "protocol/version.h"

namespace pace::daemon {
namespace {

// The client's view of the same memory, in which it may write anything.
class Client {
  public:
    explicit Client(const RingServer& ring) : layout_(ring.layout()) {
        auto memory =
            base::MappedMemfd::adopt(base::UniqueFd(dup(ring.memory_fd())), layout_.bytes());
        memory_ = std::move(*memory);
    }

    protocol::RingHeader& header() {
        return *reinterpret_cast<protocol::RingHeader*>(memory_.data());
    }
    protocol::SubmissionEntry& submission(uint32_t i) {
        return reinterpret_cast<protocol::SubmissionEntry*>(memory_.data() +
                                                            layout_.submissions())[i];
    }
    protocol::CompletionEntry& completion(uint32_t i) {
        return reinterpret_cast<protocol::CompletionEntry*>(memory_.data() +
                                                            layout_.completions())[i];
    }
    const protocol::WaitText* wait_of(uint64_t request) {
        const auto* texts =
            reinterpret_cast<const protocol::WaitText*>(memory_.data() + layout_.waits());
        for (uint32_t slot = 0; slot < layout_.slots; ++slot)
            if (texts[slot].request.load() == request) return &texts[slot];
        return nullptr;
    }
    std::string awaited(uint64_t request) {
        const protocol::WaitText* text = wait_of(request);
        if (text == nullptr) return "nothing";
        EXPECT_EQ(text->changes.load() % 2, 0U);
        return {reinterpret_cast<const char*>(text->words), text->bytes.load()};
    }
    void submit(uint64_t id) {
        const uint32_t tail = header().submission.tail.value.load();
        submission(tail & (layout_.slots - 1)).id = id;
        header().submission.tail.value.store(tail + 1);
    }

  private:
    protocol::RingLayout layout_;
    base::MappedMemfd memory_;
};

RingServer make_ring() {
    auto ring = RingServer::create(protocol::kVersion, 4, nullptr);
    return std::move(*ring);
}

TEST(RingServer, TakesSubmissionsInOrderThroughManyRounds) {
    RingServer ring = make_ring();
    Client client(ring);
    protocol::SubmissionEntry entry;
    for (uint64_t id = 1; id < 1000; ++id) {
        client.submit(id);
        ASSERT_TRUE(*ring.take(entry));
        EXPECT_EQ(entry.id, id);
        EXPECT_FALSE(*ring.take(entry));
    }
}

TEST(RingServer, RefusesATailThatLies) {
    RingServer ring = make_ring();
    Client client(ring);
    client.header().submission.tail.value.store(protocol::kRingSlots + 1);
    protocol::SubmissionEntry entry;
    EXPECT_EQ(ring.take(entry).error().kind, base::ErrorKind::corrupt);
    client.header().submission.tail.value.store(0xFFFFFFFFU);
    EXPECT_EQ(ring.take(entry).error().kind, base::ErrorKind::corrupt);
}

TEST(RingServer, DoesNotBelieveIndicesThatTheClientOverwrites) {
    RingServer ring = make_ring();
    Client client(ring);
    client.submit(1);
    client.submit(2);
    protocol::SubmissionEntry entry;
    ASSERT_TRUE(*ring.take(entry));
    client.header().submission.head.value.store(0);  // the daemon's own index is private
    client.header().completion.tail.value.store(77);
    ASSERT_TRUE(*ring.take(entry));
    EXPECT_EQ(entry.id, 2U);
    ring.complete(1, Ending{});
    EXPECT_EQ(client.completion(0).id, 1U);
    EXPECT_EQ(client.header().completion.tail.value.load(), 1U);
}

TEST(RingServer, TellsWhatAReduceCameTo) {
    RingServer ring = make_ring();
    Client client(ring);
    Ending ending;
    ending.divisor = 6;
    ending.rounds = 3;
    ending.entries = 1000;
    ending.contributors = 5;
    ending.late = true;
    ring.complete(1, ending);
    ending.late = false;
    ending.resync = ending.dense = true;
    ring.complete(2, ending);
    const protocol::CompletionEntry& first = client.completion(0);
    EXPECT_EQ(first.divisor, 6);
    EXPECT_EQ(first.rounds, 3U);
    EXPECT_EQ(first.entries, 1000U);
    EXPECT_EQ(first.contributors, 5U);
    EXPECT_EQ(first.flags, protocol::kCompletionLate);
    EXPECT_EQ(client.completion(1).flags, protocol::kCompletionResync | protocol::kCompletionDense);
}

TEST(RingServer, CopiesNoMoreBuffersThanTheEntryMayName) {
    RingServer ring = make_ring();
    Client client(ring);
    client.submit(1);
    client.submission(0).slice_count = 0xFFFF;
    protocol::SubmissionEntry entry;
    ASSERT_TRUE(*ring.take(entry));
    EXPECT_EQ(entry.slice_count, 0xFFFF);  // check_submission refuses it
}

TEST(RingServer, RingsTheDoorbellOnlyForAClientThatSleeps) {
    RingServer ring = make_ring();
    Client client(ring);
    uint64_t rings = 0;
    client.header().completion.consumer_sleeps.value.store(0);
    ring.complete(1, Ending{});
    EXPECT_LT(read(ring.completion_doorbell(), &rings, sizeof(rings)), 0);
    client.header().completion.consumer_sleeps.value.store(1);
    ring.complete(2, Ending{});
    EXPECT_EQ(read(ring.completion_doorbell(), &rings, sizeof(rings)),
              static_cast<ssize_t>(sizeof(rings)));
}

TEST(RingServer, DoesNotSleepOverASubmissionThatCameMeanwhile) {
    RingServer ring = make_ring();
    Client client(ring);
    EXPECT_TRUE(ring.arm());
    EXPECT_EQ(client.header().submission.consumer_sleeps.value.load(), 1U);
    ring.disarm();
    client.submit(1);
    EXPECT_FALSE(ring.arm());
}

TEST(RingServer, TellsAtMostAsManyMembersAsTheListHolds) {
    RingServer ring = make_ring();
    Client client(ring);
    Ending ending;
    auto members = std::make_shared<MemberList>(9);
    ending.members = members;
    ending.message = std::string(1000, 'x');
    ring.complete(1, ending);
    EXPECT_EQ(client.completion(0).member_count, 9U);
    EXPECT_EQ(client.completion(0).members_listed, 4U);
    EXPECT_EQ(client.completion(0).message_bytes, protocol::kCompletionMessageBytes);
}

TEST(RingServer, TellsWhatRequestsWaitForUntilTheyEnd) {
    RingServer ring = make_ring();
    Client client(ring);
    EXPECT_EQ(client.awaited(7), "nothing");
    ring.tell_wait(7, "worker 1, which has not called");
    ring.tell_wait(8, "the controller");
    ring.tell_wait(7, "worker 2");
    EXPECT_EQ(client.awaited(7), "worker 2");
    EXPECT_EQ(client.awaited(8), "the controller");
    ring.complete(7, {});
    EXPECT_EQ(client.awaited(7), "nothing");
    EXPECT_EQ(client.awaited(8), "the controller");
    ring.tell_wait(8, std::string(239, 'a') + "ä");
    EXPECT_EQ(client.awaited(8), std::string(239, 'a')) << "cut between characters";
}

TEST(RingServer, TellsNothingOfMoreRequestsThanThereAreSlots) {
    RingServer ring = make_ring();
    Client client(ring);
    for (uint64_t id = 1; id <= protocol::kRingSlots + 1; ++id) ring.tell_wait(id, "it");
    EXPECT_EQ(client.awaited(protocol::kRingSlots), "it");
    EXPECT_EQ(client.awaited(protocol::kRingSlots + 1), "nothing");
}

}  // namespace
}  // namespace pace::daemon
