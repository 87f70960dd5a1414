#include "tests/cluster/harness/raw_client.h"

#include <sys/fsuid.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "protocol/option_codec.h"
#include "protocol/version.h"
#include "tests/cluster/harness/cluster.h"

namespace pace::cluster {

namespace wire = client::wire;

RawClient::RawClient(const std::string& socket)
    : RawClient(client::Link::connect(socket, soon())) {}

// The kernel tells the daemon the user of this thread at the time of the connection.
RawClient RawClient::as_user(const std::string& socket, uint32_t user) {
    EXPECT_EQ(seteuid(user), 0);
    auto link = client::Link::connect(socket, soon());
    EXPECT_EQ(seteuid(0), 0);
    return RawClient(std::move(link));
}

RawClient::RawClient(base::Result<client::Link> link) {
    EXPECT_TRUE(link) << (link ? "" : link.error().message);
    if (!link) return;
    link_.emplace(std::move(*link));
    flatbuffers::FlatBufferBuilder builder;
    // A daemon that refuses at once gives the reason and hangs up, whether or not the client has
    // greeted it.
    (void)send(builder, wire::CreateHelloDirect(builder, protocol::kVersion, "raw"));
    receive();
}

template <typename Body>
bool RawClient::send(flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Body> body,
                     int fd) {
    client::finish_packet(builder, body);
    return link_ && link_->send(builder, fd, within(std::chrono::seconds(10))).ok();
}

std::optional<client::Packet> RawClient::receive() {
    if (!link_) return std::nullopt;
    auto packet = link_->receive(soon());
    if (!packet) return std::nullopt;
    if (const auto* failed = packet->body<wire::Failed>()) {
        refusal_ = client::error_of(*failed).message;
        return std::nullopt;
    }
    return std::move(*packet);
}

bool RawClient::join(const std::string& job, protocol::Policy policy, uint64_t elements) {
    flatbuffers::FlatBufferBuilder builder;
    protocol::AskedOptions asked(job, 1, std::string(protocol::name_of(policy)));
    if (elements != 0) asked.values.push_back({"server.elements", static_cast<int64_t>(elements)});
    const auto packed = protocol::write_job_options(builder, asked);
    // A job of one worker whose worker died goes on with this client. Another trainer would begin a
    // new run.
    const auto run = builder.CreateString("");
    return send(builder,
                wire::CreateJoin(builder, 1, 0, packed, false, 0, 0, run, 0, wire::Rerun::never)) &&
           receive().has_value();
}

std::optional<RawClient::Buffer> RawClient::create_buffer(uint64_t count, int adopt) {
    flatbuffers::FlatBufferBuilder builder;
    const auto create = wire::CreateBufferCreate(builder, 2, wire::DType::f32, count, adopt >= 0);
    if (!send(builder, create, adopt)) return std::nullopt;
    auto packet = receive();
    if (!packet || packet->fds().size() != 1) return std::nullopt;
    return Buffer{std::move(packet->fds().front()),
                  packet->body<wire::BufferCreated>()->restored()};
}

bool RawClient::ask_gpu_buffer(const GpuWish& wish) {
    flatbuffers::FlatBufferBuilder builder;
    const auto device = builder.CreateVector(wish.device);
    return send(
        builder,
        wire::CreateBufferCreate(builder, wish.request, wire::DType::f32, wish.count,
                                 wish.adopt >= 0 || wish.block != 0, device, 0, wish.offset, false,
                                 false, wish.takes_place, wish.block, wish.block_bytes),
        wish.adopt);
}

std::optional<RawClient::GpuBuffer> RawClient::create_gpu_buffer(const GpuWish& wish) {
    if (!ask_gpu_buffer(wish)) return std::nullopt;
    auto packet = receive();
    if (!packet) return std::nullopt;
    const auto* made = packet->body<wire::BufferCreated>();
    if (made == nullptr) return std::nullopt;
    GpuBuffer buffer{
        {}, made->buffer(), made->restored(), made->bytes(), made->block(), made->offset()};
    if (!packet->fds().empty()) buffer.fd = std::move(packet->fds().front());
    return buffer;
}

bool RawClient::ask_free(uint32_t index, bool keeps_place) {
    flatbuffers::FlatBufferBuilder builder;
    return send(builder, wire::CreateBufferFree(builder, 5, index, keeps_place));
}

bool RawClient::free_buffer(uint32_t index, bool keeps_place) {
    return ask_free(index, keeps_place) && receive().has_value();
}

bool RawClient::ask_document() {
    flatbuffers::FlatBufferBuilder builder;
    return send(builder, wire::CreateQueryDirect(builder, 3, "daemon"));
}

std::string RawClient::document() {
    std::string json;
    if (!ask_document()) return json;
    while (const auto packet = receive()) {
        const auto* piece = packet->body<wire::Document>();
        if (piece == nullptr) break;
        json += piece->json()->str();
        if (piece->last()) break;
    }
    return json;
}

bool RawClient::hung_up() {
    while (link_) {
        if (receive()) continue;
        if (link_->is_gone()) return true;
        if (refusal_.empty()) return false;
    }
    return true;
}

}  // namespace pace::cluster
