#include "service/http/server/deadlines.h"

#include <sys/socket.h>

#include <algorithm>
#include <optional>

namespace pace::http {

namespace {

// How often the server checks whether clients have gone.
constexpr base::Duration kLookEvery = std::chrono::milliseconds(250);

// Returns true if nothing is left to read and nothing will come.
bool has_gone(int socket) {
    char byte = 0;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

void Deadlines::begin(const void* key, int socket, base::Duration patience) {
    open_[key] = {.socket = socket, .awaited = Awaited::request, .due = base::now() + patience};
    schedule();
}

void Deadlines::expect(const void* key, Awaited awaited, base::Duration patience) {
    const auto found = open_.find(key);
    if (found == open_.end()) return;
    found->second.awaited = awaited;
    found->second.due = base::now() + patience;
    schedule();
}

void Deadlines::end(const void* key) {
    open_.erase(key);
}

// A timer that fires too early looks and is set again. So the timer is only moved if it would fire
// too late.
void Deadlines::schedule() {
    std::optional<base::TimePoint> first;
    for (const auto& [key, open] : open_)
        if (!open.is_shut_down) first = std::min(first.value_or(open.due), open.due);
    if (!first) return;
    const base::TimePoint next = std::min(*first, base::now() + kLookEvery);
    if (timer_.pending() && next_ <= next) return;
    next_ = next;
    timer_ = loop_.run_at(next_, [this] { look(); });
}

// The socket's owner sees the end of the connection and closes the socket.
void Deadlines::look() {
    const base::TimePoint now = base::now();
    for (auto& [key, open] : open_) {
        if (open.is_shut_down) continue;
        const bool is_late = open.due <= now;
        // A client that waits for an answer may have ended its own sending side, and still reads.
        if (!is_late && (open.awaited == Awaited::reading || !has_gone(open.socket))) continue;
        if (is_late) ++cut_off_;
        open.is_shut_down = true;
        shutdown(open.socket, SHUT_RDWR);
    }
    schedule();
}

}  // namespace pace::http
