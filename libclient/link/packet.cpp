#include "libclient/link/packet.h"

namespace pace::client {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;
using base::UniqueFd;

namespace {

// The messages nest three tables. The bound keeps a hostile packet from costing stack or time.
constexpr unsigned kDepthMax = 8;
constexpr unsigned kTablesMax = 64;

constexpr size_t kFailureBytesMax = 400;

}  // namespace

Result<Packet> Packet::verify(std::vector<std::byte> bytes, std::vector<UniqueFd> fds) {
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                   kDepthMax, kTablesMax);
    if (!wire::VerifyPacketBuffer(verifier))
        return make_error(ErrorKind::corrupt, "a packet of {} bytes from the daemon does not parse",
                          bytes.size());
    // The verifier accepts a union whose value is absent or none.
    const wire::Packet& packet = *wire::GetPacket(bytes.data());
    if (packet.body() == nullptr || packet.body_type() == wire::Body::NONE)
        return make_error(ErrorKind::corrupt,
                          "a packet of {} bytes from the daemon has no message in it",
                          bytes.size());
    return Packet(std::move(bytes), std::move(fds));
}

ErrorKind kind_of(int32_t number) {
    const auto kind = static_cast<ErrorKind>(number);
    return base::error_kind_name(kind) == "unknown" ? ErrorKind::internal : kind;
}

Error error_of(const wire::Failed& failed) {
    std::string message = printable(failed.message(), kFailureBytesMax);
    if (message.empty()) message = "the daemon refused without saying why";
    return Error{kind_of(failed.kind()), std::move(message)};
}

std::string printable(const flatbuffers::String* text, size_t bytes_max) {
    return text == nullptr ? std::string() : printable(text->string_view(), bytes_max);
}

std::string printable(std::string_view text, size_t bytes_max) {
    std::string clean(text.substr(0, bytes_max));
    for (char& c : clean)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return clean;
}

}  // namespace pace::client
