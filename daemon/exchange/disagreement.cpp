#include "daemon/exchange/disagreement.h"

#include <algorithm>

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// The slot on which the nodes of a stalled exchange compare what was called. It is in phase 0, as
// kPoisonSlot is.
constexpr uint32_t kCallSlot = 0x0FFFFFFEU;

}  // namespace

void Disagreement::ask(const Running& running) {
    if (asked_ || !running.communicator) return;
    asked_ = true;
    const auto agree = [weak = weak_from_this()](NodeId node) {
        if (const auto own = weak.lock()) own->answered_.push_back(node);
    };
    const auto disagree = [weak = weak_from_this()](NodeId node, bool disagrees) {
        if (const auto own = weak.lock()) own->heard(node, disagrees);
    };
    const ExchangePlan& plan = running.plan;
    transports::Transport& transport = running.services.transport;
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
        if (i == plan.self) continue;
        const transports::PeerId peer = running.communicator->group().nodes[i];
        const NodeId node = plan.nodes[i];
        transport.receive(peer, {plan.number, kPoisonSlot, 0}, {},
                          [disagree, node](const Result<>& got) { disagree(node, got.ok()); });
        transport.receive(peer, {plan.number, kCallSlot, plan.check}, {},
                          [agree, disagree, node](const Result<>& got) {
                              if (got) agree(node);
                              disagree(node, !got && got.error().kind == ErrorKind::mismatch);
                          });
        transport.send(peer, {plan.number, kCallSlot, plan.check}, {}, [](const Result<>&) {});
    }
}

void Disagreement::heard(NodeId node, bool disagrees) {
    if (!disagrees) return;
    if (unlike_ == 0) unlike_ = node;
    found_(base::make_error(ErrorKind::mismatch,
                            "another node cannot take part in this exchange as called here: the "
                            "workers disagree about verb, buffers or order"));
}

bool Disagreement::has_answered(NodeId node) const {
    return std::find(answered_.begin(), answered_.end(), node) != answered_.end();
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
