#include "libclient/link/packet.h"

#include <gtest/gtest.h>

namespace pace::client {
namespace {

std::vector<std::byte> bytes_of(const flatbuffers::FlatBufferBuilder& builder) {
    const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    return {begin, begin + builder.GetSize()};
}

void expect_refused(const flatbuffers::FlatBufferBuilder& builder, const char* words) {
    const auto packet = Packet::verify(bytes_of(builder), {});
    ASSERT_FALSE(packet);
    EXPECT_EQ(packet.error().kind, base::ErrorKind::corrupt);
    EXPECT_NE(packet.error().message.find(words), std::string::npos) << packet.error().message;
}

TEST(Packet, IsWhatItWasMadeOf) {
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder, wire::CreateDone(builder, 7));
    const auto packet = Packet::verify(bytes_of(builder), {});
    ASSERT_TRUE(packet);
    ASSERT_NE(packet->body<wire::Done>(), nullptr);
    EXPECT_EQ(packet->body<wire::Done>()->request(), 7U);
    EXPECT_EQ(packet->body<wire::Failed>(), nullptr);
}

// The schema's verifier alone accepts these messages.
TEST(Packet, WithoutAMessageIsRefused) {
    flatbuffers::FlatBufferBuilder neither;
    neither.Finish(wire::CreatePacket(neither));
    expect_refused(neither, "no message");

    flatbuffers::FlatBufferBuilder only_a_type;
    only_a_type.Finish(wire::CreatePacket(only_a_type, wire::Body::Welcome));
    expect_refused(only_a_type, "no message");

    flatbuffers::FlatBufferBuilder only_a_body;
    const auto done = wire::CreateDone(only_a_body, 1);
    only_a_body.Finish(wire::CreatePacket(only_a_body, wire::Body::NONE, done.Union()));
    expect_refused(only_a_body, "no message");
}

TEST(Packet, OfNoBytesOrOfNoiseIsRefused) {
    EXPECT_FALSE(Packet::verify({}, {}));
    EXPECT_FALSE(Packet::verify(std::vector<std::byte>(100, std::byte{0xA5}), {}));
}

}  // namespace
}  // namespace pace::client
