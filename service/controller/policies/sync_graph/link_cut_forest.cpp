#include "service/controller/policies/sync_graph/link_cut_forest.h"

#include <cstddef>
#include <utility>

namespace pace::controller {

LinkCutForest::LinkCutForest(uint32_t vertices, uint32_t edges)
    : vertices_(vertices), nodes_(std::size_t{vertices} + edges + 1), ends_(edges) {
    for (Index x = 1; x < nodes_.size(); ++x) nodes_[x].oldest = x;
}

bool LinkCutForest::is_splay_root(Index x) const {
    const Index p = nodes_[x].parent;
    return p == 0 || (nodes_[p].child[0] != x && nodes_[p].child[1] != x);
}

void LinkCutForest::push(Index x) {
    Node& node = nodes_[x];
    if (!node.flip) return;
    node.flip = false;
    std::swap(node.child[0], node.child[1]);
    for (const Index c : node.child) {
        if (c != 0) nodes_[c].flip = !nodes_[c].flip;
    }
}

void LinkCutForest::pull(Index x) {
    Node& node = nodes_[x];
    node.sum = node.own + node.hung;
    node.oldest = x;
    uint64_t time = node.time;
    for (const Index c : node.child) {
        if (c == 0) continue;
        node.sum += nodes_[c].sum;
        const Index candidate = nodes_[c].oldest;
        if (nodes_[candidate].time < time) {
            time = nodes_[candidate].time;
            node.oldest = candidate;
        }
    }
}

void LinkCutForest::rotate(Index x) {
    const Index p = nodes_[x].parent;
    const Index g = nodes_[p].parent;
    const bool above = !is_splay_root(p);
    const int side = nodes_[p].child[1] == x ? 1 : 0;
    const Index inner = nodes_[x].child[1 - side];
    nodes_[p].child[side] = inner;
    if (inner != 0) nodes_[inner].parent = p;
    nodes_[x].child[1 - side] = p;
    nodes_[p].parent = x;
    nodes_[x].parent = g;
    if (above) nodes_[g].child[nodes_[g].child[1] == p ? 1 : 0] = x;
    pull(p);
    pull(x);
}

void LinkCutForest::splay(Index x) {
    path_.clear();
    Index top = x;
    for (path_.push_back(top); !is_splay_root(top); path_.push_back(top)) top = nodes_[top].parent;
    for (auto it = path_.rbegin(); it != path_.rend(); ++it) push(*it);
    while (!is_splay_root(x)) {
        const Index p = nodes_[x].parent;
        if (!is_splay_root(p)) {
            const Index g = nodes_[p].parent;
            const bool same = (nodes_[p].child[0] == x) == (nodes_[g].child[0] == p);
            rotate(same ? p : x);
        }
        rotate(x);
    }
}

// Makes the path from the tree's root to x the preferred one, with x at the top of its splay tree.
void LinkCutForest::access(Index x) {
    Index below = 0;
    for (Index y = x; y != 0; y = nodes_[y].parent) {
        splay(y);
        Node& node = nodes_[y];
        if (node.child[1] != 0) node.hung += nodes_[node.child[1]].sum;
        if (below != 0) node.hung -= nodes_[below].sum;
        node.child[1] = below;
        pull(y);
        below = y;
    }
    splay(x);
}

void LinkCutForest::make_root(Index x) {
    access(x);
    nodes_[x].flip = !nodes_[x].flip;
    push(x);
}

// Cuts x from the path above. x must be at the top of its splay tree.
void LinkCutForest::detach_above(Index x) {
    const Index above = nodes_[x].child[0];
    nodes_[above].parent = 0;
    nodes_[x].child[0] = 0;
    pull(x);
}

uint32_t LinkCutForest::tree_of(uint32_t vertex) {
    Index x = vertex_node(vertex);
    access(x);
    push(x);
    while (nodes_[x].child[0] != 0) {
        x = nodes_[x].child[0];
        push(x);
    }
    // Splaying the root pays for the walk; otherwise the amortized bound is lost.
    splay(x);
    return x;
}

uint32_t LinkCutForest::oldest_edge(uint32_t u, uint32_t v) {
    if (u == v) return kNoEdge;
    make_root(vertex_node(u));
    access(vertex_node(v));
    // make_root left u at the top of its splay tree. u has a parent now only if v's path includes
    // u.
    if (nodes_[vertex_node(u)].parent == 0) return kNoEdge;
    return nodes_[vertex_node(v)].oldest - vertices_ - 1;
}

void LinkCutForest::link(uint32_t edge, uint32_t u, uint32_t v, uint64_t time) {
    const Index e = edge_node(edge);
    const Index a = vertex_node(u);
    const Index b = vertex_node(v);
    nodes_[e].time = time;
    make_root(a);
    access(b);
    if (nodes_[a].sum != 0 && nodes_[b].sum != 0) --trees_;
    nodes_[a].parent = e;
    nodes_[e].hung += nodes_[a].sum;
    pull(e);
    nodes_[e].parent = b;
    nodes_[b].hung += nodes_[e].sum;
    pull(b);
    ends_[edge] = {u, v};
}

void LinkCutForest::cut(uint32_t edge) {
    const Index e = edge_node(edge);
    const Index a = vertex_node(ends_[edge][0]);
    const Index b = vertex_node(ends_[edge][1]);
    make_root(e);
    access(a);
    detach_above(a);
    access(b);
    detach_above(b);
    if (nodes_[a].sum != 0 && nodes_[b].sum != 0) ++trees_;
    nodes_[e] = Node{};
    nodes_[e].oldest = e;
    ends_[edge] = {0, 0};
}

void LinkCutForest::set_weight(uint32_t vertex, uint32_t weight) {
    const Index x = vertex_node(vertex);
    access(x);
    const bool counted = nodes_[x].sum != 0;
    nodes_[x].own = weight;
    pull(x);
    const bool counts = nodes_[x].sum != 0;
    if (counts && !counted) ++trees_;
    if (!counts && counted) --trees_;
}

}  // namespace pace::controller
