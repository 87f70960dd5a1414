#include "daemon/partial/missed.h"

#include <algorithm>
#include <utility>

namespace pace::partial {

base::Result<> Missed::add(uint64_t round, const std::byte* result, std::span<const Rank> late) {
    for (auto& [first, cohort] : cohorts_) {
        cohort.sum.add(result);
        ++cohort.count;
    }
    std::vector<Rank> newly_late;
    for (const Rank rank : late)
        if (cohort_of(rank) == cohorts_.end()) newly_late.push_back(rank);
    if (newly_late.empty()) return {};
    PACE_TRY_ASSIGN(sum, RunningSum::begin(layout_, result));
    cohorts_.emplace(round, Cohort{std::move(sum), 1, std::move(newly_late)});
    return {};
}

base::Result<> Missed::enter(Rank rank, uint64_t first, std::span<const std::byte* const> results) {
    forget(rank);
    if (results.empty()) return {};
    if (const auto same = cohorts_.find(first); same != cohorts_.end()) {
        same->second.ranks.push_back(rank);
        return {};
    }
    PACE_TRY_ASSIGN(sum, RunningSum::begin(layout_, results.front()));
    for (const std::byte* result : results.subspan(1)) sum.add(result);
    cohorts_.emplace(first, Cohort{std::move(sum), results.size(), {rank}});
    return {};
}

std::optional<MissedRounds> Missed::rounds(Rank rank) const {
    const auto found = cohort_of(rank);
    if (found == cohorts_.end()) return std::nullopt;
    return MissedRounds{found->first, found->second.count};
}

std::optional<MissedRounds> Missed::take(Rank rank, std::span<std::byte* const> segments) {
    const auto found = cohort_of(rank);
    if (found == cohorts_.end()) return std::nullopt;
    found->second.sum.write(segments);
    const MissedRounds missed{found->first, found->second.count};
    forget(rank);
    return missed;
}

void Missed::forget(Rank rank) {
    const auto found = cohort_of(rank);
    if (found == cohorts_.end()) return;
    const auto cohort = cohorts_.find(found->first);
    std::erase(cohort->second.ranks, rank);
    if (cohort->second.ranks.empty()) cohorts_.erase(cohort);
}

Missed::Cohorts::const_iterator Missed::cohort_of(Rank rank) const {
    return std::find_if(cohorts_.begin(), cohorts_.end(), [rank](const auto& entry) {
        const std::vector<Rank>& ranks = entry.second.ranks;
        return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    });
}

}  // namespace pace::partial
