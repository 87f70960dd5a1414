#include "daemon/partial/outcome.h"

#include <algorithm>

namespace pace::partial {

RoundOutcome outcome_of(const Roster& roster, const std::vector<Snapshot>& snapshots,
                        DivideBy divide_by) {
    RoundOutcome outcome;
    for (size_t node = 0; node < snapshots.size(); ++node)
        for (size_t i = 0; i < snapshots[node].size(); ++i)
            if (snapshots[node][i] != kNothing)
                outcome.contributors.push_back({roster.nodes[node][i], snapshots[node][i]});
    size_t divisor = 1;
    if (divide_by == DivideBy::world) divisor = roster.workers();
    if (divide_by == DivideBy::contributors) divisor = outcome.contributors.size();
    outcome.divisor = static_cast<double>(std::max<size_t>(1, divisor));
    return outcome;
}

std::vector<Snapshot> snapshots_of(const Roster& roster, const RoundOutcome& outcome) {
    std::vector<Snapshot> snapshots;
    // Both are by node, then rank.
    auto next = outcome.contributors.begin();
    for (const std::vector<Rank>& ranks : roster.nodes) {
        Snapshot& snapshot = snapshots.emplace_back();
        for (const Rank rank : ranks) {
            const bool gives = next != outcome.contributors.end() && next->rank == rank;
            snapshot.push_back(gives ? next->staleness : kNothing);
            if (gives) ++next;
        }
    }
    return snapshots;
}

}  // namespace pace::partial
