// UcxOutbox: the messages that UCX did not take or may not be given yet.
#include <algorithm>
#include <utility>

#include "transports/ucx/ucx_outbox.h"

namespace pace::transports {

using base::ErrorKind;
using base::make_error;

void UcxOutbox::send_held() {
    if (held_.empty()) return;
    sending_.swap(held_);
    for (const Held& held : sending_) send_held(held);
    sending_.clear();
}

void UcxOutbox::send_held(const Held& held) {
    if (!held.peer) {
        UcxPeers::Link* link = peers_.find(held.instance);
        if (link != nullptr) answer(*link, held.message.header);
        return;
    }
    const Posting posting =
        post(*held.peer, held.message.header, held.message.bytes, held.message.ticket);
    const auto send = sends_.find(held.message.ticket);
    // The message still counts as waiting.
    if (posting == Posting::pending || posting == Posting::refused || send == sends_.end()) return;
    --send->second.posted;
    go_on(send->first, send->second);
}

void UcxOutbox::forget_waiting(PeerId peer, uint64_t ticket) {
    std::erase_if(held_, [peer, ticket](const Held& held) {
        return held.peer == peer && held.message.ticket == ticket;
    });
    const auto waiting = waiting_.find(peer);
    if (waiting == waiting_.end()) return;
    std::erase_if(waiting->second.messages,
                  [ticket](const Waiting& message) { return message.ticket == ticket; });
    if (waiting->second.messages.empty()) waiting_.erase(waiting);
}

bool UcxOutbox::resume() {
    send_held();
    bool moved = false;
    std::vector<PeerId> blocked;
    blocked.reserve(waiting_.size());
    for (const auto& [peer, messages] : waiting_) blocked.push_back(peer);
    for (const PeerId peer : blocked) moved = retry(peer) || moved;
    lose_unmoved();
    for (const uint64_t ticket : std::exchange(yielded_, {})) {
        const auto send = sends_.find(ticket);
        if (send == sends_.end()) continue;
        send->second.yielded = false;
        go_on(ticket, send->second);
        moved = true;
    }
    return moved;
}

// Sends the messages that wait for the peer, as far as UCX takes them.
bool UcxOutbox::retry(PeerId peer) {
    bool moved = false;
    for (auto waiting = waiting_.find(peer); waiting != waiting_.end();
         waiting = waiting_.find(peer)) {
        Line& line = waiting->second;
        const Waiting message = line.messages.front();
        const Posting posting =
            post_now(peers_.link(peer), message.header, message.bytes, message.ticket);
        if (posting == Posting::refused || posting == Posting::failed) break;
        moved = true;
        line.moved = base::now();
        line.messages.pop_front();
        if (line.messages.empty()) waiting_.erase(waiting);
        const auto send = sends_.find(message.ticket);
        if (posting == Posting::pending || send == sends_.end()) continue;
        --send->second.posted;
        go_on(send->first, send->second);
    }
    return moved;
}

// Loses peers whose connection takes nothing. The kernel ends a connection whose bytes are not
// acknowledged. The kernel does not know of a connection that is open and that UCX does not use:
// its other end never answered, or was lost while the two ends agreed upon the connection.
void UcxOutbox::lose_unmoved() {
    if (waiting_.empty()) return;
    const base::TimePoint now = base::now();
    // A process that stood still has not tried to send.
    const bool stood_still = now - looked_ >= unmoved_max_;
    looked_ = now;
    for (auto& [peer, line] : waiting_) {
        if (stood_still) line.moved = std::max(line.moved, now);
        if (now - line.moved < unmoved_max_) continue;
        peers_.fail(peer,
                    make_error(ErrorKind::unavailable, "the connection has taken nothing for {} ms",
                               (now - line.moved) / std::chrono::milliseconds(1)));
    }
}

}  // namespace pace::transports
