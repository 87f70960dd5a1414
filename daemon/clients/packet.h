// Packets of the client plane: each is one verified FlatBuffer with its accompanying descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <protocol/client_generated.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::daemon {

inline constexpr size_t kPacketBytesMax = 65536;
inline constexpr size_t kPacketFdsMax = 4;

// Returns the packet in `bytes`, or null if they hold none. Safe on any bytes. The result points
// into `bytes`.
const protocol::client::Packet* verify_packet(std::span<const std::byte> bytes);

struct ReceivedPacket {
    std::vector<std::byte> bytes;
    std::vector<base::UniqueFd> fds;
    bool closed = false;       // the peer has closed its end; no packet
    bool would_block = false;  // nothing is there now; no packet
};

// Takes one packet off a non-blocking SOCK_SEQPACKET socket. A packet that is too long or has too
// many descriptors is an error.
base::Result<ReceivedPacket> receive_packet(int socket);

// Sends one packet without blocking. Errors: limit, if the peer does not read its socket; closed,
// if the peer is gone.
base::Result<> send_packet(int socket, std::span<const std::byte> bytes,
                           std::span<const int> fds = {});

// Builds a packet around one body table and sends it.
template <typename Build>
base::Result<> send_body(int socket, Build&& build, std::span<const int> fds = {}) {
    flatbuffers::FlatBufferBuilder builder(512);
    const auto [type, body] = build(builder);
    builder.Finish(protocol::client::CreatePacket(builder, type, body));
    const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    return send_packet(socket, {data, builder.GetSize()}, fds);
}

}  // namespace pace::daemon
