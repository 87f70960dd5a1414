// Exchange: what holds up an exchange that makes no progress: members here, other nodes that are
// late, or nodes that are in another exchange.
#include <algorithm>

#include "daemon/exchange/exchange.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// An exchange that has not moved for this long asks the others whether they are in the same one.
constexpr base::Duration kStallNoticeable = std::chrono::milliseconds(100);

}  // namespace

base::Duration Exchange::stalled_for(base::TimePoint now) {
    base::TimePoint last = communicator_ ? communicator_->last_progress() : base::TimePoint{};
    if (!is_made()) {
        // The others wait for this node, at most for the making deadline.
        last = std::max(last, plan_.progress->moved());
        if (now - last > services_.options.making_deadline && !abort_)
            abort(base::make_error(ErrorKind::timeout,
                                   "a member of its group has made nothing ready for {} ms",
                                   (now - last) / std::chrono::milliseconds(1)));
        return base::Duration::zero();
    }
    if (!communicator_) return base::Duration::zero();
    if (busy_here_ || (cut_ && cut_->is_working())) {
        busy_until_ = now;
        return base::Duration::zero();
    }
    last = std::max(last, busy_until_);
    if (gpu_sum_ && gpu_sum_->running_since() != base::TimePoint{}) {
        if (abort_) return base::Duration::zero();  // NCCL lets go in its own time
        if (now - gpu_sum_->running_since() >= kStallNoticeable) listen_for_disagreement();
        return stalled_on_gpus(now);
    }
    if (sparse_) last = std::max(last, sparse_->last_progress());
    const base::Duration stalled = now - last;
    if (stalled >= kStallNoticeable) listen_for_disagreement();
    return stalled;
}

std::vector<NodeId> Exchange::waiting_for() const {
    std::vector<NodeId> nodes;
    if (!communicator_) return nodes;
    if (sparse_ && sparse_->is_flat()) return sparse_->waiting_for();
    for (const size_t index : communicator_->waiting_for()) nodes.push_back(plan_.nodes[index]);
    return nodes;
}

NodeId Exchange::unlike() const {
    if (communicator_ && communicator_->unlike()) return plan_.nodes[*communicator_->unlike()];
    return unlike_;
}

std::vector<NodeId> Exchange::unheard() const {
    std::vector<NodeId> nodes;
    if (!communicator_) return nodes;
    for (const size_t index : communicator_->waiting_for()) {
        const NodeId node = plan_.nodes[index];
        const bool answered =
            std::find(answered_.begin(), answered_.end(), node) != answered_.end();
        if (!answered && !communicator_->heard(index)) nodes.push_back(node);
    }
    return nodes;
}

void Exchange::listen_for_disagreement() {
    if (listening_ || !communicator_) return;
    listening_ = true;
    const auto agree = [weak = weak_from_this()](NodeId node) {
        if (const auto exchange = weak.lock()) exchange->answered_.push_back(node);
    };
    const auto disagree = [weak = weak_from_this()](NodeId node, bool disagrees) {
        const auto exchange = weak.lock();
        if (!exchange || !disagrees) return;
        if (exchange->unlike_ == 0) exchange->unlike_ = node;
        exchange->abort(base::make_error(ErrorKind::mismatch,
                                         "another node cannot take part in this exchange as "
                                         "called here: the workers disagree about verb, "
                                         "buffers or order"));
    };
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
        if (i == plan_.self) continue;
        const transports::PeerId peer = communicator_->group().nodes[i];
        const NodeId node = plan_.nodes[i];
        services_.transport.receive(
            peer, {plan_.number, kPoisonSlot, 0}, {},
            [disagree, node](const Result<>& got) { disagree(node, got.ok()); });
        // Two collectives that differ share no message by which they could find out.
        services_.transport.receive(peer, {plan_.number, kCallSlot, plan_.check}, {},
                                    [agree, disagree, node](const Result<>& got) {
                                        if (got) agree(node);
                                        disagree(node,
                                                 !got && got.error().kind == ErrorKind::mismatch);
                                    });
        services_.transport.send(peer, {plan_.number, kCallSlot, plan_.check}, {},
                                 [](const Result<>&) {});
    }
}

void send_poison(Services& services, uint64_t number, const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes) {
        if (node == services.self) continue;
        const auto peer = services.peers.peer(node);
        if (peer)
            services.transport.send(*peer, {number, kPoisonSlot, 0}, {}, [](const Result<>&) {});
    }
}

}  // namespace pace::daemon
