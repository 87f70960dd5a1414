#include "service/controller/policies/neighbour_pairs.h"

namespace pace::controller {

NeighbourPairs::NeighbourPairs(const JobOptions& options, uint64_t seed)
    : PlannedGroups(options), neighbours_(options.world), random_(seed) {
    for (size_t i = 0; i + 1 < options.edges.size(); i += 2) {
        const Rank a = options.edges[i];
        const Rank b = options.edges[i + 1];
        neighbours_[a].push_back(b);
        neighbours_[b].push_back(a);
    }
}

void NeighbourPairs::plan(Rank requester) {
    present_.clear();
    for (const Rank rank : neighbours_[requester])
        if (is_eligible(rank)) present_.push_back(rank);
    if (present_.empty()) return add_plan({requester});
    add_plan({requester, present_[random_.below(present_.size())]});
}

}  // namespace pace::controller
