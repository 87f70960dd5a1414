#include "service/controller/policies/sync_graph/sync_graph.h"

#include <algorithm>

namespace pace::controller {

SyncGraph::SyncGraph(uint32_t workers, uint32_t group_size, uint32_t window)
    : window_(std::max(window, 1U)),
      edges_per_group_(std::max(group_size, 2U) - 1),
      forest_(workers, (window_ - 1) * edges_per_group_) {}

void SyncGraph::add_group(std::span<const Rank> members) {
    const uint32_t kept = window_ - 1;
    if (kept != 0) {
        const auto slot = static_cast<uint32_t>(groups_ % kept);
        drop_oldest(slot);
        for (size_t i = 0; i + 1 < members.size() && i < edges_per_group_; ++i) {
            const auto edge = static_cast<uint32_t>(slot * edges_per_group_ + i);
            join(edge, members[i], members[i + 1]);
        }
    }
    ++groups_;
}

void SyncGraph::drop_oldest(uint32_t slot) {
    const uint32_t first = slot * edges_per_group_;
    for (uint32_t edge = first; edge < first + edges_per_group_; ++edge) {
        if (forest_.is_linked(edge)) forest_.cut(edge);
    }
}

void SyncGraph::join(uint32_t edge, Rank u, Rank v) {
    const uint32_t oldest = forest_.oldest_edge(u, v);
    if (oldest != LinkCutForest::kNoEdge) forest_.cut(oldest);
    forest_.link(edge, u, v, groups_);
}

}  // namespace pace::controller
