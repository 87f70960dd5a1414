// Disagreement: finds out whether the other nodes of an exchange that has stalled are in the same
// one. Two collectives that differ share no message by which they could find out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "daemon/exchange/run/running.h"

namespace pace::daemon {

// The slot on which a node tells the others of an exchange that it cannot take part as they expect.
// The message has zero bytes, and is looked at only when an exchange has stalled. The slot is in
// phase 0, which no collective uses (collectives/slots.h, sparse/messages.h).
inline constexpr uint32_t kPoisonSlot = 0x0FFFFFFFU;

class Disagreement : public std::enable_shared_from_this<Disagreement> {
  public:
    using Found = std::function<void(const base::Error&)>;

    // `found` is called when a node says that it cannot take part as was called here.
    explicit Disagreement(Found found) : found_(std::move(found)) {}

    // Asks the other nodes, the first time that it is called. An answer counts as having heard the
    // node.
    void ask(const Running& running);
    // The node that called something else; 0: none, or it is not known.
    NodeId unlike() const { return unlike_; }
    bool has_answered(NodeId node) const;

  private:
    void heard(NodeId node, bool disagrees);

    Found found_;
    bool asked_ = false;
    NodeId unlike_ = 0;
    std::vector<NodeId> answered_;  // nodes that have said that they take part
};

// Tells the other nodes that an exchange, which may not have begun on this node, will not come
// about.
void send_poison(Services& services, uint64_t number, const std::vector<NodeId>& nodes);

}  // namespace pace::daemon
