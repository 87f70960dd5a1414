// LinkCutForest: a forest under links and cuts, each in O(log n) amortized (Sleator and Tarjan,
// 1983), which finds the oldest edge on a path and the weight of a tree.
//
// The sync-graph keeps the maximum spanning forest by recency of the recent groups in this class.
// Each edge is a node, so that the oldest edge on a path is an aggregate of the path's splay tree.
// A tree's weight includes its virtual subtrees. `trees()` counts the trees whose weight is not
// zero.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace pace::controller {

class LinkCutForest {
  public:
    // `vertices` isolated vertices of weight 0 and `edges` edge slots, none linked.
    LinkCutForest(uint32_t vertices, uint32_t edges);

    // A name of the tree, the same for all its vertices until the next link or cut.
    uint32_t tree_of(uint32_t vertex);

    // The edge with the smallest time on the path between two vertices; kNoEdge if they are not
    // connected.
    static constexpr uint32_t kNoEdge = ~uint32_t{0};
    uint32_t oldest_edge(uint32_t u, uint32_t v);

    // Joins two trees. `edge` must not be linked, u and v must not be connected.
    void link(uint32_t edge, uint32_t u, uint32_t v, uint64_t time);
    void cut(uint32_t edge);
    bool is_linked(uint32_t edge) const { return ends_[edge][0] != ends_[edge][1]; }

    void set_weight(uint32_t vertex, uint32_t weight);

    // Trees of non-zero weight.
    uint32_t trees() const { return trees_; }

  private:
    // Index 0 is no node; vertices follow, then edges.
    using Index = uint32_t;
    struct Node {
        std::array<Index, 2> child{};
        // The parent in the splay tree, or the path parent, which does not have this node as a
        // child.
        Index parent = 0;
        Index oldest = 0;   // node with the smallest time in the splay subtree
        uint32_t own = 0;   // weight of this vertex
        uint32_t hung = 0;  // weight of the subtrees attached by path parents
        uint32_t sum = 0;   // own, hung, and both children's sums
        bool flip = false;  // the children of the subtree are to be swapped
        uint64_t time = ~uint64_t{0};
    };

    Index vertex_node(uint32_t vertex) const { return vertex + 1; }
    Index edge_node(uint32_t edge) const { return vertices_ + edge + 1; }
    bool is_splay_root(Index x) const;
    void push(Index x);
    void pull(Index x);
    void rotate(Index x);
    void splay(Index x);
    void access(Index x);
    void make_root(Index x);
    void detach_above(Index x);

    uint32_t vertices_;
    uint32_t trees_ = 0;
    std::vector<Node> nodes_;
    std::vector<std::array<uint32_t, 2>> ends_;  // ends of each edge; equal when not linked
    std::vector<Index> path_;                    // scratch of splay
};

}  // namespace pace::controller
