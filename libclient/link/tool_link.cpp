#include "libclient/link/tool_link.h"

#include "libclient/link/call.h"
#include "protocol/option_codec.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::TimePoint;

namespace {

// The status of a cluster with thousands of workers stays far below this size. A daemon that sends
// more is faulty.
constexpr size_t kDocumentBytesMax = size_t{64} << 20U;

}  // namespace

Result<ToolLink> ToolLink::open(const Endpoint& endpoint, base::Duration timeout) {
    const TimePoint now = base::now();
    PACE_TRY_ASSIGN(greeting, greet(endpoint, {now + timeout, now}));
    return ToolLink(std::move(greeting), timeout);
}

Result<std::string> ToolLink::query(std::string_view what) {
    const TimePoint deadline = base::now() + timeout_;
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder, wire::CreateQuery(builder, request,
                                             builder.CreateString(what.data(), what.size())));
    PACE_TRY(greeting_.link.send(builder, -1, deadline));
    return receive_document(request, deadline);
}

Result<std::string> ToolLink::recording_part(std::string_view node, uint64_t from) {
    const TimePoint deadline = base::now() + timeout_;
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    const auto what = builder.CreateString("node-recorder");
    const auto named = builder.CreateString(node.data(), node.size());
    finish_packet(builder, wire::CreateQuery(builder, request, what, named, from));
    PACE_TRY(greeting_.link.send(builder, -1, deadline));
    return receive_document(request, deadline);
}

Result<std::string> ToolLink::receive_document(uint64_t request, TimePoint deadline) {
    std::string document;
    for (;;) {
        Answer answer = receive_answer<wire::Document>(greeting_.link, request, deadline);
        if (!answer.packet) return std::move(answer.packet).error();
        const auto& piece = *answer.packet->body<wire::Document>();
        if (piece.json() != nullptr) document += piece.json()->string_view();
        if (document.size() > kDocumentBytesMax)
            return make_error(ErrorKind::corrupt, "the daemon's document exceeds {} bytes",
                              kDocumentBytesMax);
        if (piece.last()) return document;
    }
}

Result<> ToolLink::create_job(const AskedOptions& options) {
    PACE_TRY(known_job(options));
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    const auto packed = protocol::write_job_options(builder, options);
    finish_packet(builder, wire::CreateJobCreate(builder, request, packed));
    PACE_TRY(call<wire::Done>(greeting_.link, builder, request, -1, base::now() + timeout_).packet);
    return {};
}

Result<> ToolLink::delete_job(std::string_view name) {
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    finish_packet(builder, wire::CreateJobDelete(builder, request,
                                                 builder.CreateString(name.data(), name.size())));
    PACE_TRY(call<wire::Done>(greeting_.link, builder, request, -1, base::now() + timeout_).packet);
    return {};
}

Result<> ToolLink::drain_node(std::string_view name, bool undo) {
    const uint64_t request = next_request_++;
    flatbuffers::FlatBufferBuilder builder;
    const auto named = builder.CreateString(name.data(), name.size());
    finish_packet(builder, wire::CreateNodeDrain(builder, request, named, undo));
    PACE_TRY(call<wire::Done>(greeting_.link, builder, request, -1, base::now() + timeout_).packet);
    return {};
}

}  // namespace pace::client
