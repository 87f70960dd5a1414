#include "daemon/families/serving/shards/server_mail.h"

#include <algorithm>
#include <utility>

#include "base/loop/task.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/runtime/exchange_number.h"
#include "daemon/runtime/memory_room.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using base::Task;
using collectives::Operation;

namespace {

constexpr uint32_t head_slot(uint32_t letter) {
    return 2 * letter;
}
constexpr uint32_t content_slot(uint32_t letter) {
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
    // Whether letters are due, or under way.
    bool is_waiting() const { return due > 0 || sending > 0 || receiving_content; }
    base::Duration silent_for(base::TimePoint now) const {
        return now - std::max(waits_since, communicator.last_progress());
    }
    void begins_to_wait() {
        if (!is_waiting()) waits_since = base::now();
    }

    uint32_t sent = 0;
    uint32_t sending = 0;  // letters that have not left yet
    int64_t due = 0;       // letters that are expected; below 0: more have come than were expected
    bool receiving_content = false;
    base::TimePoint waits_since{};
    ServerMail* mail = nullptr;  // null once closed
};

namespace {

struct Sending {
    server::LetterHead head{};
    Content content;
    Operation sending_head;
    Operation sending_content;
};

bool has_answer(server::LetterKind kind) {
    return kind == server::LetterKind::update || kind == server::LetterKind::checkpoint;
}

bool is_awaited(server::LetterKind kind) {
    return kind == server::LetterKind::held || kind == server::LetterKind::part ||
           kind == server::LetterKind::kept;
}

}  // namespace

ServerMail::Admission ServerMail::admit_all(NodeId /*from*/, const server::Letter& letter) {
    return letter.kind == server::LetterKind::checkpoint ? Admission::if_it_fits
                                                         : Admission::in_any_case;
}

ServerMail::ServerMail(Services& services, uint64_t elements_max, Payer payer, Received received,
                       Refused refused, Broken broken, Admits admits)
    : services_(services),
      elements_max_(elements_max),
      payer_(std::move(payer)),
      received_(std::move(received)),
      refused_(std::move(refused)),
      broken_(std::move(broken)),
      admits_(std::move(admits)) {}

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

Result<Parcel> ServerMail::room_for(const server::Letter& letter, Admission admission) const {
    Parcel parcel;
    if (letter.bytes == 0) return parcel;
    if (admission == Admission::dropped)
        return base::make_error(ErrorKind::canceled, "nobody wants the letter");
    constexpr const char* kWhat = "a letter about a model";
    Charge charge;
    if (admission == Admission::if_it_fits) {
        PACE_TRY_ASSIGN(fits, payer_.charge(letter.bytes, kWhat));
        charge = std::move(fits);
    } else {
        charge = payer_.count(letter.bytes);
    }
    PACE_TRY(check_memory_room(kWhat, letter.bytes, memory_room()));
    PACE_TRY_ASSIGN(memory, parcel.memory.reserve(letter.bytes));
    parcel.bytes = memory;
    parcel.charge = std::move(charge);
    return parcel;
}

// Asks for the letter's content as if it had another size, which ends the transfer on both sides.
Task<> ServerMail::pass_over(Line& line, uint32_t slot) {
    Operation receiving;
    line.communicator.post_receive(receiving, line.other(), slot, {});
    const Result<> ended = co_await receiving.ended();
    if (!ended && ended.error().kind != ErrorKind::mismatch) line.communicator.note(ended);
}

void ServerMail::listen(const std::shared_ptr<Line>& line) {
    // A lambda without captures: all that the coroutine needs is in its parameters.
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
            const Admission admission = own.mail->admits_(own.node, *letter);
            auto parcel = own.mail->room_for(*letter, admission);
            if (!parcel) {
                co_await pass_over(own, content_slot(i));
            } else if (!parcel->bytes.empty()) {
                own.begins_to_wait();
                own.receiving_content = true;
                Operation receiving_content;
                own.communicator.post_receive(receiving_content, own.other(), content_slot(i),
                                              {parcel->memory.data(), parcel->bytes.size()});
                own.communicator.note(co_await receiving_content.ended());
                own.receiving_content = false;
            }
            if (own.communicator.aborted() || own.mail == nullptr) break;
            if (admission != Admission::dropped)
                own.mail->received(own, *letter, std::move(parcel));
        }
        co_return own.communicator.status();
    };
    base::spawn<Result<>>(run(line), [line](const Result<>& result) {
        if (line->mail != nullptr && !result) line->mail->broken_(line->node, result.error());
    });
}

// The receiver may close the line, and with it end the calling coroutine.
void ServerMail::received(Line& line, const server::Letter& letter, Result<Parcel> parcel) {
    if (is_awaited(letter.kind)) --line.due;
    if (parcel)
        received_(line.node, letter, std::move(*parcel));
    else
        refused_(line.node, letter, parcel.error());
}

void ServerMail::expect(NodeId from) {
    const auto line = lines_.find(from);
    if (line == lines_.end()) return;
    line->second->begins_to_wait();
    ++line->second->due;
}

std::vector<ServerMail::Overdue> ServerMail::overdue(base::TimePoint now,
                                                     base::Duration patience) const {
    std::vector<Overdue> found;
    for (const auto& [node, line] : lines_) {
        if (!line->is_waiting() || line->silent_for(now) < patience) continue;
        found.push_back(
            {node, line->silent_for(now), line->sending > 0 || line->receiving_content});
    }
    return found;
}

void ServerMail::send(NodeId to, const server::Letter& letter, Content content) {
    const auto found = lines_.find(to);
    if (found == lines_.end()) return;
    const std::shared_ptr<Line> line = found->second;
    line->begins_to_wait();
    ++line->sending;
    if (has_answer(letter.kind)) ++line->due;
    auto sending = std::make_unique<Sending>();
    sending->head = server::write_head(letter);
    sending->content = std::move(content);
    static constexpr auto run = [](std::shared_ptr<Line> open, std::unique_ptr<Sending> what,
                                   uint32_t number) -> Task<Result<>> {
        collectives::Communicator& communicator = open->communicator;
        communicator.post_send(what->sending_head, open->other(), head_slot(number), what->head);
        if (!what->content.bytes.empty())
            communicator.post_send(what->sending_content, open->other(), content_slot(number),
                                   what->content.bytes);
        communicator.note(co_await what->sending_head.ended());
        communicator.note(co_await what->sending_content.ended());
        --open->sending;
        co_return communicator.status();
    };
    base::spawn<Result<>>(run(line, std::move(sending), line->sent++), [](const Result<>&) {});
}

}  // namespace pace::daemon
