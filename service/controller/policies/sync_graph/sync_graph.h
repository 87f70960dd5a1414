// SyncGraph: which workers the recent groups connect (partial reduce, section 4, "group frozen
// avoidance").
//
// The graph joins the members of each of the last T groups. When a new group enters, the oldest
// leaves. A decision therefore needs the graph of the last T-1 groups, which is what this class
// holds. The graph is kept as the maximum spanning forest by recency: an edge of a new group
// replaces the oldest edge on the cycle that it closes. An edge that leaves the window can
// therefore be cut without a search for a replacement: a non-tree edge that could replace it would
// be older, and has left already. Only components with *counted* workers count: nobody waits for
// dead and frozen vertices.
#pragma once

#include <cstdint>
#include <span>

#include "service/controller/policies/sync_graph/link_cut_forest.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class SyncGraph {
  public:
    // Groups have at most `group_size` members and ranks are below `workers`. `window` is T, at
    // least 1.
    SyncGraph(uint32_t workers, uint32_t group_size, uint32_t window);

    // The members must be distinct. O(P log N) amortized.
    void add_group(std::span<const Rank> members);

    // Whether T groups have entered: before that, a missing edge means nothing.
    bool is_full() const { return groups_ >= window_; }
    uint64_t groups() const { return groups_; }

    void set_counted(Rank rank, bool counted) { forest_.set_weight(rank, counted ? 1 : 0); }

    // The number of components with at least one counted worker.
    uint32_t components() const { return forest_.trees(); }

    // A name for the worker's component, valid until the next group.
    uint32_t component_of(Rank rank) { return forest_.tree_of(rank); }

  private:
    void drop_oldest(uint32_t slot);
    void join(uint32_t edge, Rank u, Rank v);

    uint32_t window_;
    uint32_t edges_per_group_;
    uint64_t groups_ = 0;
    LinkCutForest forest_;
};

}  // namespace pace::controller
