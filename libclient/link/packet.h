// Packet: one verified message of the client plane, with the descriptors that came beside the
// message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <protocol/client_generated.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::client {

namespace wire = protocol::client;

// A piece of a document is at most 48 KiB. Every other message is far smaller.
inline constexpr size_t kPacketBytesMax = size_t{64} * 1024;

// No answer carries as many descriptors. The kernel cuts off the excess ones and the packet is
// refused.
inline constexpr size_t kPacketFdsMax = 8;

class Packet {
  public:
    // Fails with ErrorKind::corrupt if the bytes are no Packet of client.fbs, or are a Packet
    // without a body.
    static base::Result<Packet> verify(std::vector<std::byte> bytes,
                                       std::vector<base::UniqueFd> fds);

    wire::Body type() const { return root()->body_type(); }

    // The body if it is a T, else nullptr.
    template <typename T>
    const T* body() const {
        return root()->body_as<T>();
    }

    std::vector<base::UniqueFd>& fds() { return fds_; }

  private:
    Packet(std::vector<std::byte> bytes, std::vector<base::UniqueFd> fds)
        : bytes_(std::move(bytes)), fds_(std::move(fds)) {}

    const wire::Packet* root() const { return wire::GetPacket(bytes_.data()); }

    std::vector<std::byte> bytes_;
    std::vector<base::UniqueFd> fds_;
};

// Finishes a message with the body `body`. The message is then ready to be sent.
template <typename T>
void finish_packet(flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<T> body) {
    builder.Finish(wire::CreatePacket(builder, wire::BodyTraits<T>::enum_value, body.Union()));
}

// Returns the daemon's Failed as an Error. Kinds that this library does not know count as internal.
base::Error error_of(const wire::Failed& failed);

// Returns the kind with this number on the wire, or internal if there is none.
base::ErrorKind kind_of(int32_t number);

// Makes a text of the daemon printable for people. An absent text becomes empty. Control characters
// become '?'. The result has at most `bytes_max` bytes.
std::string printable(const flatbuffers::String* text, size_t bytes_max);
std::string printable(std::string_view text, size_t bytes_max);

}  // namespace pace::client
