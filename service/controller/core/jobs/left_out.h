// LeftOut: the nodes without which a job continues because other nodes cannot reach them, and the
// requests of their workers meanwhile.
//
// If nodes that take part are cut from each other, the fewest nodes necessary are left out
// (fewest_to_leave.h). If a model is on hosts, the nodes that cannot reach a host are left out; a
// host's word alone does not suffice. The workers of a left-out node are suspended. Their next
// requests to take part are kept until no cut separates the node from nodes that take part.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/controller/core/nodes/cut_links.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class LeftOut {
  public:
    // A node of the job.
    struct Presence {
        uint32_t workers = 0;  // that take part
        bool is_host = false;  // keeps a part of a model, which every worker needs
        bool operator==(const Presence&) const = default;
    };
    using Present = std::map<NodeId, Presence>;

    // A worker's kept requests: to take part, and a ready signal.
    struct Kept {
        bool wants_model = false;
        std::optional<From<Ready>> ready;
    };

    bool empty() const { return nodes_.empty(); }
    bool contains(NodeId node) const { return nodes_.contains(node); }
    const std::set<NodeId>& nodes() const { return nodes_; }

    // Returns the nodes to leave out, and leaves them out from now on.
    std::vector<NodeId> choose(const CutLinks& cuts, const Present& present);
    // Returns a left-out node that may come back, and lets it back; none otherwise.
    std::optional<NodeId> come_back(const CutLinks& cuts, const Present& present);
    // Whether a worker of the node may take part now. If not, the node is left out from now on.
    bool admits(NodeId node, const CutLinks& cuts, const Present& present);

    void keep(Rank rank, bool wants_model);
    // For a worker that has asked to take part, or need not ask.
    void keep(const From<Ready>& ready);
    bool keeps(Rank rank) const { return kept_.contains(rank); }
    std::optional<Kept> take(Rank rank);
    void forget(Rank rank) { kept_.erase(rank); }
    // The node is gone, and with it its cuts.
    void forget_node(NodeId node) { nodes_.erase(node); }

  private:
    static bool is_apart(NodeId node, const CutLinks& cuts, const Present& present);

    std::set<NodeId> nodes_;
    std::map<Rank, Kept> kept_;
    // The cuts and the present nodes for which nobody had to be left out; 0: none.
    uint64_t seen_cuts_ = 0;
    Present seen_present_;
};

// A present node from which the node is cut; 0: none.
NodeId cut_from(NodeId node, const CutLinks& cuts, const LeftOut::Present& present);

}  // namespace pace::controller
