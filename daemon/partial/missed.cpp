#include "daemon/partial/missed.h"

#include <algorithm>
#include <utility>

namespace pace::partial {

using collectives::ByteRange;

base::Result<std::shared_ptr<RunningSum>> Missed::new_sum() const {
    PACE_TRY_ASSIGN(sum, RunningSum::begin(layout_));
    const size_t bytes = sum.bytes();
    return paid(std::move(sum), bytes, pay_);
}

base::Result<> Missed::add(uint64_t round, Outcome result, std::span<const Rank> late) {
    std::vector<std::shared_ptr<RunningSum>> sums;
    for (auto& [first, cohort] : cohorts_) {
        sums.push_back(cohort.sum);
        ++cohort.count;
    }
    std::vector<Rank> newly_late;
    for (const Rank rank : late)
        if (cohort_of(rank) == cohorts_.end()) newly_late.push_back(rank);
    std::shared_ptr<RunningSum> begun;
    base::Result<> has_memory;
    if (!newly_late.empty()) {
        if (auto sum = new_sum())
            begun = *sum;
        else
            has_memory = sum.error();
    }
    if (begun) cohorts_.emplace(round, Cohort{begun, 1, std::move(newly_late)});
    if (sums.empty() && !begun) return has_memory;
    const size_t touched = layout_.bytes() * (2 * sums.size() + 2);
    strand_->run(
        touched, layout_.bytes(), kernels::Aside::kGrainBytes,
        [sums = std::move(sums), begun, result = std::move(result)](size_t from, size_t to) {
            for (const auto& sum : sums) sum->add(ByteRange{from, to}, result.data);
            if (begun) begun->set(ByteRange{from, to}, result.data);
        });
    return has_memory;
}

base::Result<> Missed::enter(Rank rank, uint64_t first, std::vector<Outcome> results) {
    forget(rank);
    if (results.empty()) return {};
    if (const auto same = cohorts_.find(first); same != cohorts_.end()) {
        same->second.ranks.push_back(rank);
        return {};
    }
    PACE_TRY_ASSIGN(sum, new_sum());
    cohorts_.emplace(first, Cohort{sum, results.size(), {rank}});
    const size_t touched = layout_.bytes() * (2 * results.size());
    strand_->run(touched, layout_.bytes(), kernels::Aside::kGrainBytes,
                 [sum, results = std::move(results)](size_t from, size_t to) {
                     sum->set(ByteRange{from, to}, results.front().data);
                     for (size_t i = 1; i < results.size(); ++i)
                         sum->add(ByteRange{from, to}, results[i].data);
                 });
    return {};
}

std::optional<MissedRounds> Missed::rounds(Rank rank) const {
    const auto found = cohort_of(rank);
    if (found == cohorts_.end()) return std::nullopt;
    return MissedRounds{found->first, found->second.count};
}

std::optional<MissedRounds> Missed::take(Rank rank, std::vector<std::byte*> segments,
                                         std::shared_ptr<const void> keep) {
    const auto found = cohort_of(rank);
    if (found == cohorts_.end()) return std::nullopt;
    strand_->run(2 * layout_.bytes(), layout_.bytes(), kernels::Aside::kGrainBytes,
                 [sum = found->second.sum, segments = std::move(segments), keep = std::move(keep)](
                     size_t from, size_t to) {
                     sum->write(ByteRange{from, to}, segments);
                 });
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
