// LeftOut: the nodes without which a job goes on because some of its others cannot reach them, and what their workers have
// asked for meanwhile.
//
// A node is left out when it and another that takes part are cut from each other, the fewest nodes first (fewest_to_leave.h).
// Its workers are suspended; their next requests to take part are kept until no cut separates the node from who takes part.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/controller/core/cut_links.h"
#include "service/controller/core/types.h"

namespace pace::controller {

class LeftOut {
  public:
    // A node of the job.
    struct Presence {
        uint32_t workers = 0;  // that take part
        bool is_host = false;  // of a part of a model, without which no worker does
        bool operator==(const Presence&) const = default;
    };
    using Present = std::map<NodeId, Presence>;

    // What a worker has asked for that is to be kept: to take part, and a ready signal.
    struct Kept {
        bool wants_model = false;
        std::optional<From<Ready>> ready;
    };

    bool empty() const { return nodes_.empty(); }
    bool contains(NodeId node) const { return nodes_.contains(node); }
    const std::set<NodeId>& nodes() const { return nodes_; }

    // The nodes to leave out now. They are from now on.
    std::vector<NodeId> choose(const CutLinks& cuts, const Present& present);
    // A node that is left out and may come back; none otherwise. It is not left out any more.
    std::optional<NodeId> come_back(const CutLinks& cuts, const Present& present);
    // Whether a worker of the node may take part now. Otherwise the node is left out from now on.
    bool admits(NodeId node, const CutLinks& cuts, const Present& present);

    void keep(Rank rank, bool wants_model);
    // Of one that has asked to take part, or need not.
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
    // With which nobody had to be left out; 0: none.
    uint64_t seen_cuts_ = 0;
    Present seen_present_;
};

// Which of the present the node is cut from; 0: none.
NodeId cut_from(NodeId node, const CutLinks& cuts, const LeftOut::Present& present);

}  // namespace pace::controller
