#include "service/controller/policies/group_filter.h"

#include <algorithm>

namespace pace::controller {
namespace {

constexpr uint32_t kDoublingsMax = 20;  // a million times the first hold is beyond any group_wait

}  // namespace

bool GroupFilter::choose(const SignalQueue& queue, const SignalQueue::Line& line, uint32_t size,
                         TimePoint now, Patience patience, std::vector<Rank>& ret_members) {
    take_first(queue, line, size, ret_members);
    const bool held = is_holding(line.digest);
    if (graph_.is_full() && graph_.components() > 1) {
        const uint32_t spanned = components_among(ret_members);
        const bool connects = spanned == graph_.components() ||
                              take_bridging(queue, line, size, spanned, ret_members) || spanned > 1;
        if (connects) holds_in_vain_ = 0;
        if (!connects && hold(line, now, patience)) return false;
    }
    if (held) hold_.reset();
    return true;
}

void GroupFilter::on_removed(Rank rank) {
    if (checked_ == rank) checked_ = kNoRank;
}

void GroupFilter::take_first(const SignalQueue& queue, const SignalQueue::Line& line, uint32_t size,
                             std::vector<Rank>& ret_members) const {
    ret_members.clear();
    for (Rank rank = line.first; ret_members.size() < size; rank = queue.next(rank)) {
        ret_members.push_back(rank);
    }
}

// Leaves the components' names in seen_.
uint32_t GroupFilter::components_among(std::span<const Rank> members) {
    seen_.clear();
    for (const Rank rank : members) {
        const uint32_t name = graph_.component_of(rank);
        if (std::find(seen_.begin(), seen_.end(), name) == seen_.end()) seen_.push_back(name);
    }
    return static_cast<uint32_t>(seen_.size());
}

// The first signal, then the earliest of each component not in the group yet, then the earliest of
// the others. False, with the members left as they are, if that spans no more than `spanned`
// components.
bool GroupFilter::take_bridging(const SignalQueue& queue, const SignalQueue::Line& line,
                                uint32_t size, uint32_t spanned, std::vector<Rank>& ret_members) {
    chosen_.assign(1, line.first);
    components_among(chosen_);
    for (Rank rank = first_unchecked(queue, line); rank != kNoRank && chosen_.size() < size;
         rank = queue.next(rank)) {
        const uint32_t name = graph_.component_of(rank);
        if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) {
            checked_ = rank;
            checked_digest_ = line.digest;
            continue;
        }
        seen_.push_back(name);
        chosen_.push_back(rank);
        if (seen_.size() == graph_.components()) break;
    }
    if (seen_.size() <= spanned) return false;
    for (Rank rank = queue.next(line.first); chosen_.size() < size; rank = queue.next(rank)) {
        if (std::find(chosen_.begin(), chosen_.end(), rank) == chosen_.end()) {
            chosen_.push_back(rank);
        }
    }
    const bool changed = !std::is_permutation(chosen_.begin(), chosen_.end(), ret_members.begin(),
                                              ret_members.end());
    if (changed) ++bridged_;
    ret_members = chosen_;
    return true;
}

// A signal is looked at once. Looking at the whole queue for every group would be quadratic when it
// is long, as after a restart; that a worker splits off while it waits is seen when it comes to the
// front.
Rank GroupFilter::first_unchecked(const SignalQueue& queue, const SignalQueue::Line& line) const {
    const bool valid = checked_ != kNoRank && checked_digest_ == line.digest;
    return queue.next(valid ? checked_ : line.first);
}

// True: keep holding.
bool GroupFilter::hold(const SignalQueue::Line& line, TimePoint now, Patience patience) {
    if (patience.most.count() <= 0) return false;
    if (!hold_) {
        if (graph_.groups() < next_hold_) return false;
        const int64_t longer = int64_t{1} << holds_in_vain_;
        const bool most = patience.first > patience.most / longer;
        hold_ = Hold{line.digest, now, most ? patience.most : patience.first * longer};
        return true;
    }
    if (hold_->digest != line.digest) return false;
    if (now < hold_deadline()) return true;
    next_hold_ = graph_.groups() + window_;
    holds_in_vain_ = std::min(holds_in_vain_ + 1, kDoublingsMax);
    return false;
}

}  // namespace pace::controller
