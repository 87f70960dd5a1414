// Fuzzes a packet of the client plane. Both sides verify it. A packet that the daemon accepts is
// read to the last field. A packet that the library accepts is accepted by the daemon.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "daemon/clients/packet.h"
#include "libclient/link/packet.h"
#include "protocol/option_codec.h"
#include "protocol/options/option_table.h"

namespace {

namespace fb = pace::protocol::client;

uint64_t sink = 0;

void read(const flatbuffers::String* text) {
    if (text == nullptr) return;
    sink += text->size() + static_cast<unsigned char>(text->c_str()[text->size()]);
}

void read(const pace::protocol::wire::JobOptions& table) {
    const auto asked = pace::protocol::read_job_options(table);
    if (!asked) return;
    const auto options = pace::protocol::read_options(*asked);
    if (!options) return;
    // Options that were read are written again. Reading them must give the same options.
    const auto again = pace::protocol::read_options(pace::protocol::write_options(*options));
    if (!again || pace::protocol::differences_of(*again, *options) != "") std::abort();
    sink += options->world;
}

void read_all(const fb::Packet& packet) {
    if (const auto* hello = packet.body_as_Hello()) {
        sink += hello->version();
        read(hello->library());
    } else if (const auto* join = packet.body_as_Join()) {
        read(*join->options());
        sink += join->rank();
    } else if (const auto* create = packet.body_as_BufferCreate()) {
        sink += create->count() + static_cast<uint64_t>(create->dtype());
    } else if (const auto* query = packet.body_as_Query()) {
        read(query->what());
    } else if (const auto* job = packet.body_as_JobCreate()) {
        read(*job->options());
    } else if (const auto* deletion = packet.body_as_JobDelete()) {
        read(deletion->name());
    } else if (const auto* drain = packet.body_as_NodeDrain()) {
        read(drain->name());
        sink += drain->undo() ? 1 : 0;
    } else if (const auto* failure = packet.body_as_Failed()) {
        read(failure->message());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // The copy has exactly this size, so that the sanitizer sees a read past its end.
    const auto* begin = reinterpret_cast<const std::byte*>(data);
    std::vector<std::byte> bytes(begin, begin + size);
    const auto* packet = pace::daemon::verify_packet(bytes);
    if (packet != nullptr) read_all(*packet);
    const bool accepted = packet != nullptr;
    if (pace::client::Packet::verify(std::move(bytes), {}) && !accepted) std::abort();
    return 0;
}
