// LinkTable: what the ways between nodes were measured to take, as their daemons report it; the latest measurement of each
// ordered pair. Those of a node that is gone are kept for its return, until there is no room for others. Soft state: a controller that is restarted is told again.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "service/controller/core/types.h"

namespace pace::controller {

struct Link {
    uint64_t latency_ns = 0;  // of a message
    double ns_per_byte = 0;
    bool operator==(const Link&) const = default;
};

// By which links are compared: the time for 1 MiB, about what an exchange of models sends at once.
double mebibyte_ns(const Link& link);

class LinkTable {
  public:
    // The bound on what one node can make us remember; daemons measure far fewer.
    static constexpr size_t kLinksOfNodeMax = 64;

    // False if the report makes no sense, or is one too many of its node; nothing has changed then.
    bool add(NodeId from, const LinkReport& report);

    void forget(NodeId node);
    // No more of this node, but for those that are known.
    bool is_full(NodeId from) const;
    // What this node has measured to others of which that holds.
    void forget_if(NodeId from, const std::function<bool(NodeId to)>& holds);

    const Link* find(NodeId from, NodeId to) const;

    // The time for 1 MiB between two nodes, by the slower way where both were measured. None if neither was.
    std::optional<double> mebibyte_ns_between(NodeId a, NodeId b) const;

    // By the node that measured, then by the other.
    const std::map<NodeId, std::map<NodeId, Link>>& all() const { return links_; }

  private:
    std::map<NodeId, std::map<NodeId, Link>> links_;
};

}  // namespace pace::controller
