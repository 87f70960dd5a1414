// Client, questions: requests open to tools and trainers alike: documents, and jobs without
// workers.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "daemon/clients/client.h"
#include "protocol/option_codec.h"
#include "protocol/options/description.h"
#include "protocol/options/limits.h"
#include "protocol/options/names.h"
#include "protocol/options/printable.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
namespace fb = protocol::client;

namespace {

constexpr size_t kDocumentPieceBytes = 48 * 1024;
// Questions of one client that are not answered, or whose answers it has not read. A guess: tools
// ask one after the other.
constexpr size_t kQuestionsMax = 8;

}  // namespace

// Bounds the outbox of a client that asks and does not read.
Result<> Client::check_questions() const {
    const auto unread = static_cast<size_t>(std::count_if(
        outbox_.begin(), outbox_.end(), [](const Piece& piece) { return piece.last; }));
    if (tickets_.size() + recordings_asked_ + unread < kQuestionsMax) return {};
    return base::make_error(ErrorKind::limit,
                            "more than {} questions whose answers have not come or were not read",
                            kQuestionsMax);
}

Result<> Client::on_query(const fb::Query& query) {
    PACE_TRY(check_questions());
    const std::string what = query.what() == nullptr ? "" : query.what()->str();
    if (what == "daemon") return send_document(query.request(), context_.daemon_document());
    if (what == "recorder") {
        ask_for_recording(query.request());
        return {};
    }
    if (what == "node-recorder") {
        ask_for_part(query);
        return {};
    }
    if (what == "options") return send_document(query.request(), protocol::options_list_json());
    if (what == "policies") return send_document(query.request(), protocol::policies_list_json());
    if (what != "status")
        return send_failed(
            query.request(),
            base::make_error(
                ErrorKind::invalid,
                "\"{}\" is no document; ask for \"status\", "
                "\"daemon\", \"recorder\", \"node-recorder\", \"options\" or \"policies\"",
                protocol::printable(what.substr(0, protocol::kNameBytesMax))));
    const auto ticket = std::make_shared<uint64_t>(0);
    *ticket =
        context_.engine.status([this, ticket, id = query.request()](Result<std::string> json) {
            tickets_.erase(*ticket);
            const auto sent = json ? send_document(id, *json) : send_failed(id, json.error());
            if (!sent) refuse(sent.error());
        });
    tickets_.insert(*ticket);
    return {};
}

// Making a full recording takes too long for the event loop.
void Client::ask_for_recording(uint64_t request) {
    ++recordings_asked_;
    context_.recording(scope_.bind([this, request](const std::string& json) {
        --recordings_asked_;
        if (closing_) return;
        const auto sent = send_document(request, json);
        if (!sent) refuse(sent.error());
    }));
}

void Client::ask_for_part(const fb::Query& query) {
    const std::string node = query.node() == nullptr ? "" : query.node()->str();
    const auto ticket = std::make_shared<uint64_t>(0);
    *ticket = context_.engine.recording(
        node.substr(0, protocol::kNameBytesMax + 1), query.from(),
        [this, ticket, id = query.request()](Result<std::string> json) {
            tickets_.erase(*ticket);
            const auto sent = json ? send_document(id, *json) : send_failed(id, json.error());
            if (!sent) refuse(sent.error());
        });
    tickets_.insert(*ticket);
}

Result<> Client::on_job_delete(const fb::JobDelete& deletion) {
    PACE_TRY(check_questions());
    const auto ticket = std::make_shared<uint64_t>(0);
    *ticket = context_.engine.delete_job(
        deletion.name()->str().substr(0, protocol::kNameBytesMax + 1), process_.uid,
        [this, ticket, id = deletion.request()](Result<std::string> answer) {
            tickets_.erase(*ticket);
            const auto sent = answer ? send_done(id) : send_failed(id, answer.error());
            if (!sent) refuse(sent.error());
        });
    tickets_.insert(*ticket);
    return {};
}

// Only root and the daemon's own user, who runs Pace here, may drain. On a shared machine no person
// logs in as that user.
Result<> Client::on_node_drain(const fb::NodeDrain& drain) {
    PACE_TRY(check_questions());
    const std::string name = drain.name()->str().substr(0, protocol::kNameBytesMax + 1);
    if (process_.uid != 0 && process_.uid != geteuid())
        return send_failed(
            drain.request(),
            base::make_error(
                ErrorKind::denied,
                "user {} may not {} nodes; root may, and user {}, whose daemon this is",
                process_.uid, drain.undo() ? "put back" : "drain", geteuid()));
    const auto ticket = std::make_shared<uint64_t>(0);
    *ticket = context_.engine.drain_node(
        name, drain.undo(), [this, ticket, id = drain.request()](Result<std::string> answer) {
            tickets_.erase(*ticket);
            const auto sent = answer ? send_done(id) : send_failed(id, answer.error());
            if (!sent) refuse(sent.error());
        });
    tickets_.insert(*ticket);
    return {};
}

Result<> Client::on_job_create(const fb::JobCreate& create) {
    PACE_TRY(check_questions());
    const auto options = protocol::read_job_options(*create.options());
    if (!options) return send_failed(create.request(), options.error());
    if (const auto named = protocol::check_job_name(options->name); !named)
        return send_failed(create.request(), named.error());
    const auto ticket = std::make_shared<uint64_t>(0);
    *ticket = context_.engine.create_job(
        *options, process_.uid, [this, ticket, id = create.request()](Result<std::string> answer) {
            tickets_.erase(*ticket);
            const auto sent = answer ? send_done(id) : send_failed(id, answer.error());
            if (!sent) refuse(sent.error());
        });
    tickets_.insert(*ticket);
    return {};
}

Result<> Client::send_document(uint64_t request, const std::string& json) {
    for (size_t begin = 0; begin == 0 || begin < json.size(); begin += kDocumentPieceBytes) {
        const std::string piece = json.substr(begin, kDocumentPieceBytes);
        flatbuffers::FlatBufferBuilder b(piece.size() + 128);
        const bool last = begin + kDocumentPieceBytes >= json.size();
        const auto document = fb::CreateDocumentDirect(b, request, piece.c_str(), last);
        b.Finish(fb::CreatePacket(b, fb::Body::Document, document.Union()));
        const auto* data = reinterpret_cast<const std::byte*>(b.GetBufferPointer());
        PACE_TRY_ASSIGN(charge, context_.accounts->charge(process_.uid, {.bytes = b.GetSize()},
                                                          "a piece of a document"));
        outbox_.push_back({{data, data + b.GetSize()}, last, std::move(charge)});
    }
    return flush();
}

Result<> Client::flush() {
    while (!outbox_.empty()) {
        const auto sent = send_packet(socket_->get(), outbox_.front().bytes);
        if (!sent && sent.error().kind != ErrorKind::limit) return sent.error();
        if (!sent) {
            // The tool reads slowly. The rest is sent when its socket has room.
            return context_.loop.watch(socket_->get(), EPOLLIN | EPOLLRDHUP | EPOLLOUT,
                                       [this](uint32_t events) { on_socket(events); });
        }
        outbox_.pop_front();
    }
    return context_.loop.watch(socket_->get(), EPOLLIN | EPOLLRDHUP,
                               [this](uint32_t events) { on_socket(events); });
}

}  // namespace pace::daemon
