// Writes a peer's frames on the encrypted data plane (tls_frames.cpp).
#include "tests/fuzz/corpus_writer.h"
#include "transports/tls/wire/frames.h"
#include "transports/tls/wire/tls_address.h"

namespace pace::fuzz {

namespace {

using transports::tls::FrameKind;

// Acts of tls_frames.cpp, in the order of its input.
class Acts {
  public:
    void act(uint8_t what, uint8_t numbers, std::span<const std::byte> rest = {}) {
        Bytes chunk{std::byte{what}, std::byte{numbers}};
        chunk.insert(chunk.end(), rest.begin(), rest.end());
        append_chunk(input, chunk);
    }

    void say(const transports::tls::Frame& frame) {
        const auto header = encode_frame(frame);
        Bytes message(header.begin(), header.end());
        message.resize(message.size() + payload_bytes(frame), std::byte{7});
        constexpr uint8_t kFrame = 6;
        act(kFrame, 0, message);
    }

    Bytes input;
};

}  // namespace

void write_encrypted_data_plane() {
    Acts acts;
    constexpr uint8_t kReceive = 0;
    constexpr uint8_t kSend = 1;
    constexpr uint8_t kClose = 2;
    constexpr uint8_t kEnd = 3;
    constexpr uint8_t kWrite = 5;
    constexpr uint8_t kSixteenBytes = 32;
    acts.act(kReceive, kSixteenBytes);
    acts.say({.kind = FrameKind::eager, .size = 16});
    acts.say({.kind = FrameKind::eager, .slot = 1, .size = 16});
    acts.say({.kind = FrameKind::offer, .exchange = 1, .size = 16, .ticket = 3});
    acts.act(kReceive, kSixteenBytes + 1);
    acts.say({.kind = FrameKind::data, .size = 8, .ticket = 1});
    acts.say({.kind = FrameKind::data, .size = 8, .ticket = 1, .argument = 8});
    acts.act(kSend, 15 * 16 + 2);
    acts.say({.kind = FrameKind::accept, .ticket = 1, .argument = 5});
    acts.act(kWrite, 0);
    acts.act(kSend, 15 * 16 + 3);
    acts.say({.kind = FrameKind::refuse, .ticket = 2});
    acts.say({.kind = FrameKind::credit, .argument = 200});
    acts.say({.kind = FrameKind::ping});
    acts.say({.kind = FrameKind::pong});
    acts.say({.kind = FrameKind::withdrawn, .argument = 1});
    acts.act(kClose, 0);
    acts.act(kEnd, 0);
    write("tls_frames", "all_kinds", acts.input);
    transports::tls::IpEndpoint v4;
    v4.port = 4711;
    transports::tls::IpEndpoint v6 = v4;
    v6.is_v6 = true;
    write("tls_frames", "address",
          transports::tls::encode_address({{std::byte{3}}, 8'388'608, 262'144, {v4, v6}}));
}

}  // namespace pace::fuzz
