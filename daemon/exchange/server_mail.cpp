#include "daemon/exchange/server_mail.h"

#include <algorithm>
#include <utility>

#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/exchange/digest.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using base::Task;
using collectives::Operation;

namespace {

constexpr uint32_t head_slot(uint32_t letter) {
    return 2 * letter;
}
constexpr uint32_t elements_slot(uint32_t letter) {
    return 2 * letter + 1;
}

}  // namespace

// Lives until its last operation has ended, however long after it was closed.
struct ServerMail::Line {
    Line(Services& services, collectives::Group group, NodeId to)
        : node(to), communicator(services.transport, std::move(group)) {}

    size_t other() const { return 1 - communicator.self(); }

    NodeId node;
    collectives::Communicator communicator;
    uint32_t sent = 0;
    ServerMail* mail = nullptr;  // null once closed
};

namespace {

struct Sending {
    server::LetterHead head{};
    std::vector<std::byte> elements;
    Operation sending_head;
    Operation sending_elements;
};

}  // namespace

ServerMail::ServerMail(Services& services, uint64_t elements_max, Received received, Broken broken)
    : services_(services),
      elements_max_(elements_max),
      received_(std::move(received)),
      broken_(std::move(broken)) {}

ServerMail::~ServerMail() {
    close(base::make_error(ErrorKind::canceled, "the job is gone"));
}

void ServerMail::open(uint64_t token, uint64_t epoch, const std::vector<NodeId>& nodes) {
    close(base::make_error(ErrorKind::aborted, "the job's membership has changed"));
    for (const NodeId node : nodes) {
        if (node == services_.self) continue;
        const auto peer = services_.peers.peer(node);
        if (!peer) {
            broken_(node, peer.error());
            continue;
        }
        const auto [lower, higher] = std::minmax(node, services_.self);
        collectives::Group group;
        group.exchange =
            exchange_number(token, ExchangeKind::mail, epoch, uint64_t{lower} << 32U | higher);
        group.nodes = {*peer, *peer};
        group.self = services_.self == lower ? 0 : 1;
        auto line = std::make_shared<Line>(services_, std::move(group), node);
        line->mail = this;
        lines_[node] = line;
        listen(line);
    }
}

void ServerMail::close(const base::Error& error) {
    for (const auto& [node, line] : std::exchange(lines_, {})) {
        line->mail = nullptr;
        line->communicator.abort(error);
    }
}

void ServerMail::listen(const std::shared_ptr<Line>& line) {
    // A free function's coroutine: what it needs is in its parameters.
    static constexpr auto run = [](std::shared_ptr<Line> open) -> Task<Result<>> {
        Line& own = *open;
        for (uint32_t i = 0; !own.communicator.aborted(); ++i) {
            server::LetterHead head{};
            Operation receiving;
            own.communicator.post_receive(receiving, own.other(), head_slot(i), head);
            own.communicator.note(co_await receiving.ended());
            if (own.communicator.aborted() || own.mail == nullptr) break;
            const auto letter = server::read_head(head, own.mail->elements_max_);
            own.communicator.note(letter ? Result<>() : Result<>(letter.error()));
            if (!letter) break;
            std::vector<std::byte> elements(letter->bytes);
            if (!elements.empty()) {
                Operation receiving_elements;
                own.communicator.post_receive(receiving_elements, own.other(), elements_slot(i),
                                              elements);
                own.communicator.note(co_await receiving_elements.ended());
            }
            if (own.communicator.aborted() || own.mail == nullptr) break;
            own.mail->received_(own.node, *letter, std::move(elements));
        }
        co_return own.communicator.status();
    };
    base::spawn<Result<>>(run(line), [line](const Result<>& result) {
        if (line->mail != nullptr && !result) line->mail->broken_(line->node, result.error());
    });
}

void ServerMail::send(NodeId to, const server::Letter& letter, std::vector<std::byte> elements) {
    const auto found = lines_.find(to);
    if (found == lines_.end()) return;
    const std::shared_ptr<Line> line = found->second;
    auto sending = std::make_unique<Sending>();
    sending->head = server::write_head(letter);
    sending->elements = std::move(elements);
    static constexpr auto run = [](std::shared_ptr<Line> open, std::unique_ptr<Sending> what,
                                   uint32_t number) -> Task<Result<>> {
        collectives::Communicator& communicator = open->communicator;
        communicator.post_send(what->sending_head, open->other(), head_slot(number), what->head);
        if (!what->elements.empty())
            communicator.post_send(what->sending_elements, open->other(), elements_slot(number),
                                   what->elements);
        communicator.note(co_await what->sending_head.ended());
        communicator.note(co_await what->sending_elements.ended());
        co_return communicator.status();
    };
    base::spawn<Result<>>(run(line, std::move(sending), line->sent++), [](const Result<>&) {});
}

}  // namespace pace::daemon
