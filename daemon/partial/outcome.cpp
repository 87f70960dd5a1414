#include "daemon/partial/outcome.h"

#include <algorithm>

namespace pace::partial {

namespace {

Verdict verdict_of(const std::vector<NodeView>& views) {
    bool everyone = true;
    uint32_t terms = 0;
    bool disagree = false;
    for (const NodeView& view : views) {
        for (const uint32_t given : view.given) everyone = everyone && (given & kWaits) != 0;
        if (terms == 0) terms = view.terms;
        disagree = disagree || (view.terms != 0 && view.terms != terms);
    }
    if (everyone) return Verdict::everyone;
    if (disagree) return Verdict::disagree;
    return terms == 0 ? Verdict::nothing : Verdict::sum;
}

std::vector<Contributor> contributors_of(const Roster& roster, size_t node,
                                         const Snapshot& snapshot) {
    std::vector<Contributor> contributors;
    for (size_t i = 0; i < snapshot.size(); ++i) {
        const uint32_t staleness = snapshot[i] & ~kWaits;
        if (staleness != kNothing) contributors.push_back({roster.nodes[node][i], staleness});
    }
    return contributors;
}

}  // namespace

RoundOutcome outcome_of(const Roster& roster, const std::vector<NodeView>& views,
                        DivideBy divide_by) {
    RoundOutcome outcome;
    outcome.verdict = verdict_of(views);
    if (outcome.verdict == Verdict::disagree)
        for (const NodeView& view : views) outcome.terms.push_back(view.terms);
    if (outcome.verdict != Verdict::sum) return outcome;
    std::vector<Snapshot> snapshots;
    snapshots.reserve(views.size());
    for (const NodeView& view : views) snapshots.push_back(view.given);
    outcome = outcome_of(roster, snapshots, 1.0);
    size_t divisor = 1;
    if (divide_by == DivideBy::world) divisor = roster.workers();
    if (divide_by == DivideBy::contributors) divisor = outcome.contributors.size();
    outcome.divisor = static_cast<double>(std::max<size_t>(1, divisor));
    return outcome;
}

std::vector<Snapshot> snapshots_of(const Roster& roster, const RoundOutcome& outcome) {
    std::vector<Snapshot> snapshots;
    // Both lists are in the order of nodes, then ranks.
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

RoundOutcome outcome_of(const Roster& roster, const std::vector<Snapshot>& snapshots,
                        double divisor) {
    RoundOutcome outcome;
    outcome.divisor = divisor;
    for (size_t node = 0; node < snapshots.size(); ++node) {
        const std::vector<Contributor> own = contributors_of(roster, node, snapshots[node]);
        outcome.contributors.insert(outcome.contributors.end(), own.begin(), own.end());
    }
    return outcome;
}

}  // namespace pace::partial
