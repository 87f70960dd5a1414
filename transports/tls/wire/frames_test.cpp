#include "transports/tls/wire/frames.h"

#include <gtest/gtest.h>

#include "transports/conformance/fixture.h"

namespace pace::transports::tls {
namespace {

constexpr size_t kSegment = 4096;

Frame frame_of(FrameKind kind, uint64_t size) {
    return {kind, 0x01020304,         0x05060708,        0x1112131415161718,
            size, 0x2122232425262728, 0x3132333435363738};
}

TEST(Frames, AreReadAsTheyWereWritten) {
    for (const auto& [kind, size, payload] :
         std::vector<std::tuple<FrameKind, uint64_t, size_t>>{{FrameKind::hello, kHelloBytes, 40},
                                                              {FrameKind::eager, 0, 0},
                                                              {FrameKind::eager, kSegment, 4096},
                                                              {FrameKind::offer, ~uint64_t{0}, 0},
                                                              {FrameKind::accept, 0, 0},
                                                              {FrameKind::refuse, 0, 0},
                                                              {FrameKind::data, 1, 1},
                                                              {FrameKind::credit, 0, 0},
                                                              {FrameKind::ping, 0, 0},
                                                              {FrameKind::pong, 0, 0},
                                                              {FrameKind::withdrawn, 0, 0}}) {
        const Frame frame = frame_of(kind, size);
        const auto decoded = decode_frame(encode_frame(frame), kSegment);
        ASSERT_TRUE(decoded) << decoded.error().message;
        EXPECT_EQ(*decoded, frame);
        EXPECT_EQ(payload_bytes(*decoded), payload);
    }
}

TEST(Frames, HaveTheirIntegersInOneByteOrder) {
    const FrameBytes bytes = encode_frame(frame_of(FrameKind::data, 0x0102));
    EXPECT_EQ(bytes[0], std::byte{6});
    EXPECT_EQ(bytes[4], std::byte{4}) << "the slot";
    EXPECT_EQ(bytes[7], std::byte{1});
    EXPECT_EQ(bytes[24], std::byte{2}) << "the size";
    EXPECT_EQ(bytes[25], std::byte{1});
    EXPECT_EQ(bytes[47], std::byte{0x31}) << "the argument";
}

TEST(Frames, ThatNoPeerSendsAreRefused) {
    for (const Frame& frame :
         {frame_of(static_cast<FrameKind>(0), 0), frame_of(static_cast<FrameKind>(11), 0),
          frame_of(FrameKind::eager, kSegment + 1), frame_of(FrameKind::data, kSegment + 1),
          frame_of(FrameKind::data, 0), frame_of(FrameKind::hello, kHelloBytes - 1),
          frame_of(FrameKind::accept, 1), frame_of(FrameKind::pong, ~uint64_t{0})}) {
        const auto decoded = decode_frame(encode_frame(frame), kSegment);
        ASSERT_FALSE(decoded);
        EXPECT_EQ(decoded.error().kind, base::ErrorKind::corrupt);
    }
    FrameBytes reserved = encode_frame(frame_of(FrameKind::ping, 0));
    reserved[12] = std::byte{1};
    EXPECT_FALSE(decode_frame(reserved, kSegment));
}

TEST(Frames, OfAHelloTellBothInstances) {
    Hello hello;
    hello.from.fill(std::byte{3});
    hello.to.fill(std::byte{4});
    hello.number = 0x0102030405060708;
    const auto bytes = encode_hello(hello);
    const std::span<const std::byte, kFrameBytes + kHelloBytes> all(bytes);
    const auto frame = decode_frame(all.first<kFrameBytes>(), kSegment);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->kind, FrameKind::hello);
    EXPECT_EQ(payload_bytes(*frame), kHelloBytes);
    EXPECT_EQ(decode_hello(all.last<kHelloBytes>()), hello);
}

}  // namespace
}  // namespace pace::transports::tls
