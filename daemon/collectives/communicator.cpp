#include "daemon/collectives/communicator.h"

#include <utility>

namespace pace::collectives {

Communicator::Communicator(transports::Transport& transport, Group group)
    : transport_(transport),
      group_(std::move(group)),
      pending_(group_.nodes.size(), 0),
      last_progress_(base::now()) {}

Communicator::~Communicator() {
    if (!aborted()) transport_.close_exchange(group_.exchange);
}

void Communicator::post_send(Operation& operation, size_t node, uint32_t slot,
                             std::span<const std::byte> bytes) {
    if (!begin(operation, node, bytes.size(), true)) return;
    transport_.send(
        group_.nodes[node], tag(slot), bytes,
        [this, &operation](base::Result<> result) { end(operation, std::move(result)); });
}

void Communicator::post_receive(Operation& operation, size_t node, uint32_t slot,
                                std::span<std::byte> bytes) {
    if (!begin(operation, node, bytes.size(), false)) return;
    transport_.receive(
        group_.nodes[node], tag(slot), bytes,
        [this, &operation](base::Result<> result) { end(operation, std::move(result)); });
}

bool Communicator::begin(Operation& operation, size_t node, size_t bytes, bool is_send) {
    operation.result_ = status();
    if (aborted()) return false;
    operation.node_ = node;
    operation.bytes_ = bytes;
    operation.is_send_ = is_send;
    operation.pending_ = true;
    ++pending_[node];
    return true;
}

void Communicator::end(Operation& operation, base::Result<> result) {
    --pending_[operation.node_];
    last_progress_ = base::now();
    if (result && operation.is_send_) {
        ++counters_.messages_sent;
        counters_.bytes_sent += operation.bytes_;
    } else if (result) {
        ++counters_.messages_received;
        counters_.bytes_received += operation.bytes_;
    }
    operation.pending_ = false;
    operation.result_ = std::move(result);
    // The waiter may end, and the operation with it.
    if (operation.waiter_) std::exchange(operation.waiter_, nullptr).resume();
}

void Communicator::abort(base::Error error) {
    if (aborted()) return;
    error_ = std::move(error);
    transport_.close_exchange(group_.exchange);
}

void Communicator::note(const base::Result<>& result) {
    if (!result) abort(result.error());
}

void Communicator::peer_lost(transports::PeerId peer, const base::Error& error) {
    for (size_t node = 0; node < size(); ++node)
        if (node != self() && group_.nodes[node] == peer) abort(error);
}

base::Result<> Communicator::status() const {
    if (error_) return *error_;
    return {};
}

std::vector<size_t> Communicator::waiting_for() const {
    std::vector<size_t> nodes;
    for (size_t node = 0; node < pending_.size(); ++node)
        if (pending_[node] > 0) nodes.push_back(node);
    return nodes;
}

}  // namespace pace::collectives
