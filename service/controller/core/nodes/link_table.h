// LinkTable: the measured times of links between nodes, as their daemons report them; the latest
// measurement of each ordered pair. Measurements of a node that is gone are kept for its return
// until their room is needed. Soft state: after a restart of the controller daemons report again.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "service/controller/vocabulary/types.h"

namespace pace::controller {

struct Link {
    uint64_t latency_ns = 0;  // of a message
    double ns_per_byte = 0;
    bool operator==(const Link&) const = default;
};

// The measure for comparing links: the time for 1 MiB, about what an exchange of models sends at
// once.
double mebibyte_ns(const Link& link);

class LinkTable {
  public:
    // A bound on the memory that one node can use; daemons measure far fewer links.
    static constexpr size_t kLinksOfNodeMax = 64;

    // False, and nothing changes, if the report makes no sense or its node has too many links.
    bool add(NodeId from, const LinkReport& report);

    void forget(NodeId node);
    // Whether no further link of this node is accepted, except updates.
    bool is_full(NodeId from) const;
    // Forgets this node's measurements to nodes for which `holds` is true.
    void forget_if(NodeId from, const std::function<bool(NodeId to)>& holds);

    const Link* find(NodeId from, NodeId to) const;

    // The time for 1 MiB between two nodes; the slower direction if both were measured. None if
    // neither was.
    std::optional<double> mebibyte_ns_between(NodeId a, NodeId b) const;

    // Keyed by the node that measured, then by the other.
    const std::map<NodeId, std::map<NodeId, Link>>& all() const { return links_; }

  private:
    std::map<NodeId, std::map<NodeId, Link>> links_;
};

}  // namespace pace::controller
