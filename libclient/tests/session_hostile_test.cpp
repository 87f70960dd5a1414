// A daemon that sends invalid data: the session is severed, the trainer is told, and nothing is
// read out of bounds.
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <limits>

#include "libclient/testing/session_fixture.h"

namespace pace::client::testing {
namespace {

using base::ErrorKind;
using protocol::CompletionEntry;

class SessionHostileTest : public SessionFixture {
  protected:
    // Answers the first message of type `step` with `lie`.
    void start_lying(wire::Body step, std::function<void(Peer&, Packet&)> lie) {
        Script script;
        script.on_packet = [step, lie = std::move(lie)](Peer& peer, Packet& packet) {
            if (packet.type() != step) return false;
            lie(peer, packet);
            return true;
        };
        start(std::move(script));
    }

    void expect_open_fails(ErrorKind kind) {
        auto session = try_open();
        ASSERT_FALSE(session);
        EXPECT_EQ(session.error().kind, kind) << session.error().message;
    }

    // The daemon posts `entry` in answer to a request. The request must end as gone, once. The
    // session must then be able to start afresh.
    void expect_completion_is_refused(const std::function<void(CompletionEntry&)>& spoil) {
        Script script;
        script.on_submission = [&](Peer& peer, const protocol::SubmissionEntry& submission) {
            CompletionEntry entry{};
            entry.id = submission.id;
            spoil(entry);
            peer.complete(entry);
        };
        start(std::move(script));
        auto session = open();
        EXPECT_TRUE(is_gone(wait(*session, barrier(*session))));
        daemon_->restart({});
        EXPECT_FALSE(is_gone(wait(*session, barrier(*session))));
    }
};

TEST_F(SessionHostileTest, TornPacketsAreRefusedAtEachLength) {
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder,
                  wire::CreateWelcomeDirect(builder, protocol::kVersion, "fake", "node", 1));
    for (size_t length = 1; length < builder.GetSize(); ++length) {
        start_lying(wire::Body::Hello, [&](Peer& peer, Packet&) {
            peer.send_bytes({builder.GetBufferPointer(), length});
        });
        auto session = try_open(protocol::Policy::partial_reduce, std::chrono::seconds(1));
        // The last bytes may be padding. The message is whole without padding.
        if (session && length + sizeof(uint64_t) > builder.GetSize()) continue;
        ASSERT_FALSE(session) << length;
        EXPECT_EQ(session.error().kind, ErrorKind::unavailable) << session.error().message;
    }
}

TEST_F(SessionHostileTest, NoiseAndOversizedPacketsAreRefused) {
    for (const size_t size : {size_t{3}, size_t{4096}, kPacketBytesMax + 4096}) {
        const std::vector<uint8_t> noise(size, 0x5A);
        start_lying(wire::Body::Hello, [&](Peer& peer, Packet&) { peer.send_bytes(noise); });
        expect_open_fails(ErrorKind::unavailable);
    }
}

TEST_F(SessionHostileTest, AnAnswerToAnotherRequestIsRefused) {
    start_lying(wire::Body::BufferCreate, [](Peer& peer, Packet& packet) {
        flatbuffers::FlatBufferBuilder builder;
        const uint64_t request = packet.body<wire::BufferCreate>()->request();
        peer.send(builder, wire::CreateBufferCreated(builder, request + 1, 1, 1, 64, false));
    });
    auto session = open();
    auto buffer = session->create_buffer(protocol::DType::f32, 16);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().kind, ErrorKind::unavailable) << buffer.error().message;
}

TEST_F(SessionHostileTest, AnAnswerOfAnotherTypeIsRefused) {
    start_lying(wire::Body::Join, [](Peer& peer, Packet& packet) {
        flatbuffers::FlatBufferBuilder builder;
        peer.send(builder, wire::CreateDone(builder, packet.body<wire::Join>()->request()));
    });
    expect_open_fails(ErrorKind::unavailable);
}

TEST_F(SessionHostileTest, AFailureOfAnUnknownKindIsInternal) {
    start_lying(wire::Body::Join, [](Peer& peer, Packet& packet) {
        peer.send_failed(packet.body<wire::Join>()->request(), static_cast<ErrorKind>(77), "odd");
    });
    expect_open_fails(ErrorKind::internal);
}

// Sends Joined with these sizes and descriptors.
void send_joined(Peer& peer, const Packet& packet, uint32_t slots, uint32_t capacity,
                 std::span<const int> fds, uint32_t rank = 1) {
    flatbuffers::FlatBufferBuilder builder;
    auto options = protocol::wire::CreateJobOptionsDirect(builder, "job", 4, "partial-reduce");
    peer.send(builder,
              wire::CreateJoined(builder, packet.body<wire::Join>()->request(), 1, rank, 4, options,
                                 false, slots, capacity),
              fds);
}

base::MappedMemfd ring_memory(uint32_t slots, uint32_t capacity, size_t bytes) {
    auto memory = base::MappedMemfd::create("lying-ring", bytes, false);
    EXPECT_TRUE(memory);
    auto* header = reinterpret_cast<protocol::RingHeader*>(memory->data());
    header->magic = protocol::kRingMagic;
    header->version = protocol::kVersion;
    header->ring_slots = slots;
    header->member_capacity = capacity;
    return std::move(*memory);
}

TEST_F(SessionHostileTest, RingSizesThatAreNoneAreRefused) {
    struct Sizes {
        uint32_t slots;
        uint32_t capacity;
    };
    constexpr uint32_t huge = std::numeric_limits<uint32_t>::max();
    for (const Sizes sizes :
         {Sizes{0, 4}, Sizes{3, 4}, Sizes{huge, 4}, Sizes{1U << 31U, 4}, Sizes{8, huge}}) {
        start_lying(wire::Body::Join, [&](Peer& peer, Packet& packet) {
            const auto memory = ring_memory(sizes.slots, sizes.capacity, 4096);
            const base::UniqueFd bell(eventfd(0, 0));
            send_joined(peer, packet, sizes.slots, sizes.capacity,
                        std::array{memory.fd(), bell.get(), bell.get()});
        });
        expect_open_fails(ErrorKind::unavailable);
    }
}

TEST_F(SessionHostileTest, RingMemoryThatIsShortUnsealedOrContradictsIsRefused) {
    const size_t bytes = protocol::RingLayout{8, 4}.bytes();
    const auto open_with = [&](int memory) {
        start_lying(wire::Body::Join, [memory](Peer& peer, Packet& packet) {
            const base::UniqueFd bell(eventfd(0, 0));
            send_joined(peer, packet, 8, 4, std::array{memory, bell.get(), bell.get()});
        });
        return try_open().ok();
    };
    EXPECT_TRUE(open_with(ring_memory(8, 4, bytes).fd()));
    EXPECT_FALSE(open_with(ring_memory(8, 4, bytes - 4096).fd()));
    EXPECT_FALSE(open_with(ring_memory(16, 4, bytes).fd()));
    const base::UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(unsealed.get(), static_cast<off_t>(2 * bytes)), 0);
    EXPECT_FALSE(open_with(unsealed.get()));
    const auto used = ring_memory(8, 4, bytes);
    reinterpret_cast<protocol::RingHeader*>(used.data())->completion.tail.value = 1;
    EXPECT_FALSE(open_with(used.fd()));
}

TEST_F(SessionHostileTest, TooFewOrTooManyDescriptorsAreRefused) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{4}, size_t{12}}) {
        start_lying(wire::Body::Join, [&](Peer& peer, Packet& packet) {
            const auto memory = ring_memory(8, 4, protocol::RingLayout{8, 4}.bytes());
            const std::vector<int> fds(count, memory.fd());
            send_joined(peer, packet, 8, 4, fds);
        });
        expect_open_fails(ErrorKind::unavailable);
    }
}

TEST_F(SessionHostileTest, JoiningAsAnotherRankIsRefused) {
    start_lying(wire::Body::Join, [&](Peer& peer, Packet& packet) {
        const auto memory = ring_memory(8, 4, protocol::RingLayout{8, 4}.bytes());
        const base::UniqueFd bell(eventfd(0, 0));
        send_joined(peer, packet, 8, 4, std::array{memory.fd(), bell.get(), bell.get()}, 2);
    });
    expect_open_fails(ErrorKind::unavailable);
}

TEST_F(SessionHostileTest, BufferMemoryThatIsMissingShortOrUnsealedIsRefused) {
    const auto create_with = [&](std::span<const int> fds, uint64_t bytes) {
        start_lying(wire::Body::BufferCreate, [=](Peer& peer, Packet& packet) {
            flatbuffers::FlatBufferBuilder builder;
            const uint64_t request = packet.body<wire::BufferCreate>()->request();
            peer.send(builder, wire::CreateBufferCreated(builder, request, 1, 1, bytes, false),
                      fds);
        });
        auto session = open();
        return session->create_buffer(protocol::DType::f32, 4096).ok();
    };
    auto good = base::MappedMemfd::create("buffer", 16384, false);
    auto small = base::MappedMemfd::create("buffer", 4096, false);
    const base::UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(unsealed.get(), 16384), 0);
    EXPECT_TRUE(create_with(std::array{good->fd()}, 16384));
    EXPECT_FALSE(create_with({}, 16384));
    EXPECT_FALSE(create_with(std::array{good->fd(), good->fd()}, 16384));
    EXPECT_FALSE(create_with(std::array{good->fd()}, 100));
    EXPECT_FALSE(create_with(std::array{small->fd()}, 16384));
    EXPECT_FALSE(create_with(std::array{unsealed.get()}, 16384));
}

TEST_F(SessionHostileTest, CompletionsThatDoNotParseSeverTheSession) {
    expect_completion_is_refused([](CompletionEntry& e) { e.id += 1U << 16U; });
    expect_completion_is_refused([](CompletionEntry& e) { e.id = 0; });
    expect_completion_is_refused([](CompletionEntry& e) { e.id = ~uint64_t{0}; });
    expect_completion_is_refused(
        [](CompletionEntry& e) { e.outcome = static_cast<protocol::Outcome>(9); });
    expect_completion_is_refused([](CompletionEntry& e) { e.message_bytes = 249; });
    expect_completion_is_refused([](CompletionEntry& e) { e.message_bytes = 0xFFFFFFFF; });
    expect_completion_is_refused([](CompletionEntry& e) {
        e.member_count = 5;
        e.members_listed = 5;
    });
    expect_completion_is_refused([](CompletionEntry& e) {
        e.member_count = 1;
        e.members_listed = 2;
    });
}

TEST_F(SessionHostileTest, ATailThatRunsAheadSeversTheSession) {
    start(holding());
    auto session = open();
    const RequestHandle request = barrier(*session);
    daemon_->with_peer([](Peer& peer) { peer.publish(9); });
    EXPECT_TRUE(is_gone(wait(*session, request)));
}

TEST_F(SessionHostileTest, ARequestEndsOnceHoweverOftenTheDaemonSaysSo) {
    start(holding());
    auto session = open();
    const RequestHandle request = barrier(*session);
    const RequestHandle other = barrier(*session);
    daemon_->with_peer([&](Peer& peer) {
        peer.complete_done(request.id);
        peer.complete_done(request.id);
    });
    EXPECT_EQ(wait(*session, request).entry.outcome, protocol::Outcome::done);
    EXPECT_TRUE(is_gone(wait(*session, other)));
}

TEST_F(SessionHostileTest, ASubmissionHeadThatLiesSeversTheSession) {
    Script script;
    script.on_submission = [](Peer& peer, const protocol::SubmissionEntry& entry) {
        peer.header().submission.head.value = 1000;
        peer.complete_done(entry.id);
    };
    start(std::move(script));
    auto session = open();
    wait(*session, barrier(*session));
    EXPECT_EQ(session->submit({}).error().kind, ErrorKind::unavailable);
}

TEST_F(SessionHostileTest, ABellThatRingsForNothingOnlyCostsAWakeUp) {
    start(holding());
    auto session = open();
    const RequestHandle request = barrier(*session);
    daemon_->with_peer([&](Peer& peer) {
        peer.publish(0);
        const uint64_t often = 1000;
        EXPECT_EQ(write(peer.completion_bell.get(), &often, sizeof(often)), 8);
        peer.complete_done(request.id);
    });
    EXPECT_EQ(wait(*session, request).entry.outcome, protocol::Outcome::done);
}

}  // namespace
}  // namespace pace::client::testing
