#include "tests/world/wire.h"

#include <algorithm>

#include <fmt/format.h>

namespace pace::world {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// ------------------------------------------------------------------------------------- switchboard

void Switchboard::listen(bool listens) {
    listens_ = listens;
    if (listens) return;
    const auto wires = wires_;
    for (Wire* wire : wires) {
        if (!wire->connected()) continue;
        wire->drop();
        wire->connect_later();
    }
}

void Switchboard::break_connections(MachineId machine) {
    const auto wires = wires_;
    for (Wire* wire : wires) {
        if (wire->machine_ != machine || !wire->connected()) continue;
        wire->drop();
        wire->connect_later();
    }
}

bool Switchboard::receive(Letter& ret_letter) {
    Wire* first = nullptr;
    for (const auto& [route, wire] : connected_) {
        if (wire->to_controller_.empty()) continue;
        const TimePoint arrives = wire->to_controller_.front().arrives;
        if (arrives > clockwork_.now() || machines_.is_cut(wire->machine_, machines_.controllers()))
            continue;
        if (first == nullptr || arrives < first->to_controller_.front().arrives) first = wire;
    }
    if (first == nullptr) return false;
    ret_letter.route = first->route_;
    ret_letter.bytes = std::move(first->to_controller_.front().bytes);
    first->to_controller_.pop_front();
    return true;
}

bool Switchboard::send(const std::string& route, std::span<const std::byte> message) {
    const auto found = connected_.find(route);
    if (found == connected_.end()) return false;
    Wire& wire = *found->second;
    if (!point_("before", message, machines_.controllers(), wire.machine_)) return true;
    wire.push(wire.to_daemon_, message, machines_.controllers(), wire.machine_);
    [[maybe_unused]] const bool lives =
        point_("after", message, machines_.controllers(), wire.machine_);
    return true;
}

std::optional<TimePoint> Switchboard::next_arrival() const {
    std::optional<TimePoint> next;
    const auto look = [&next](const std::deque<Wire::Message>& queue) {
        if (queue.empty()) return;
        if (!next || queue.front().arrives < *next) next = queue.front().arrives;
    };
    for (const Wire* wire : wires_) {
        if (!machines_.is_cut(wire->machine_, machines_.controllers())) look(wire->to_controller_);
        if (!machines_.is_cut(machines_.controllers(), wire->machine_)) look(wire->to_daemon_);
    }
    return next;
}

// -------------------------------------------------------------------------------------------- wire

Wire::Wire(Switchboard& board, MachineId machine) : board_(board), machine_(machine) {
    board_.wires_.push_back(this);
}

Wire::~Wire() {
    drop();
    ++*attempt_;
    std::erase(board_.wires_, this);
}

void Wire::fall_silent() {
    silent_ = true;
    drop();
    ++*attempt_;
}

base::Result<> Wire::open() {
    opened_at_ = base::now();
    connect_later();
    return {};
}

void Wire::reopen() {
    drop();
    opened_at_ = base::now();
    connect_later();
}

void Wire::connect_later() {
    if (silent_) return;
    const uint64_t attempt = ++*attempt_;
    board_.clockwork_.after(board_.clockwork_.uniform(microseconds(200), milliseconds(20)),
                            [this, attempt, current = attempt_] {
                                if (*current == attempt) connect();
                            });
}

void Wire::connect() {
    const MachineId controllers = board_.machines_.controllers();
    if (!board_.listens_ || board_.machines_.is_cut(machine_, controllers) ||
        board_.machines_.is_cut(controllers, machine_))
        return connect_later();
    route_ = fmt::format("route{}", ++board_.routes_);
    board_.connected_[route_] = this;
}

void Wire::drop() {
    board_.connected_.erase(route_);
    route_.clear();
    to_controller_.clear();
    to_daemon_.clear();
}

void Wire::push(std::deque<Message>& queue, std::span<const std::byte> bytes, MachineId from,
                MachineId to) {
    TimePoint arrives = board_.clockwork_.now() + board_.machines_.delay(from, to);
    if (!queue.empty()) arrives = std::max(arrives, queue.back().arrives);
    queue.push_back({arrives, {bytes.begin(), bytes.end()}});
}

bool Wire::readable() const {
    return !to_daemon_.empty() && to_daemon_.front().arrives <= board_.clockwork_.now() &&
           !board_.machines_.is_cut(board_.machines_.controllers(), machine_);
}

bool Wire::send(std::span<const std::byte> message) {
    if (silent_ || route_.empty()) return false;
    const MachineId controllers = board_.machines_.controllers();
    if (!board_.point_("before", message, machine_, controllers)) return false;
    if (silent_ || route_.empty()) return false;
    push(to_controller_, message, machine_, controllers);
    [[maybe_unused]] const bool lives = board_.point_("after", message, machine_, controllers);
    return true;
}

Wire::Received Wire::receive(std::span<const std::byte>& ret_bytes) {
    if (silent_ || !readable()) return Received::nothing;
    received_ = std::move(to_daemon_.front().bytes);
    to_daemon_.pop_front();
    ret_bytes = received_;
    return Received::message;
}

}  // namespace pace::world
