#include "service/controller/policies/group_filter.h"

#include <algorithm>

namespace pace::controller {
namespace {

constexpr uint32_t kDoublingsMax = 20;  // 2^20 times the first hold exceeds any group_wait

}  // namespace

bool GroupFilter::choose(const SignalQueue& queue, const SignalQueue::Line& line, uint32_t size,
                         TimePoint now, Patience patience, std::vector<Rank>& ret_members) {
    queue.take(line.first, size, ret_members);
    const bool held = is_holding(line.digest);
    if (graph_.is_full() && graph_.components() > 1) {
        bool connects = connect(queue, line, size, ret_members);
        if (!connects && may_begin_hold(patience)) {
            // A hold is rare enough to examine all waiting signals once more.
            checked_ = kNoRank;
            connects = connect(queue, line, size, ret_members);
        }
        if (connects) holds_in_vain_ = 0;
        if (!connects && hold(line, now, patience)) return false;
    }
    if (held) hold_.reset();
    return true;
}

void GroupFilter::on_removed(const SignalQueue& queue, Rank rank) {
    if (checked_ == rank) checked_ = kNoRank;
    const auto lines = queue.lines();
    if (hold_ && std::none_of(lines.begin(), lines.end(),
                              [&](const auto& line) { return line.digest == hold_->digest; })) {
        hold_.reset();
    }
}

// Whether the members bridge components, possibly after replacing some of them.
bool GroupFilter::connect(const SignalQueue& queue, const SignalQueue::Line& line, uint32_t size,
                          std::vector<Rank>& ret_members) {
    const uint32_t spanned = components_among(ret_members);
    return spanned == graph_.components() ||
           take_bridging(queue, line, size, spanned, ret_members) || spanned > 1;
}

// Counts the components of the members and leaves the components' names in seen_.
uint32_t GroupFilter::components_among(std::span<const Rank> members) {
    seen_.clear();
    for (const Rank rank : members) {
        const uint32_t name = graph_.component_of(rank);
        if (std::find(seen_.begin(), seen_.end(), name) == seen_.end()) seen_.push_back(name);
    }
    return static_cast<uint32_t>(seen_.size());
}

// Takes the first signal, then the earliest of each component not in the group yet, then the
// earliest of the others. If that spans no more than `spanned` components, returns false and leaves
// the members unchanged.
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

// Each signal is examined once. Examining the whole queue for every group would be quadratic when
// the queue is long, as after a restart. If a worker becomes disconnected while it waits, the
// filter sees this when the signal reaches the front, or when a hold begins.
Rank GroupFilter::first_unchecked(const SignalQueue& queue, const SignalQueue::Line& line) const {
    const bool valid = checked_ != kNoRank && checked_digest_ == line.digest;
    return queue.next(valid ? checked_ : line.first);
}

bool GroupFilter::may_begin_hold(Patience patience) const {
    return !hold_ && patience.most.count() > 0 && graph_.groups() >= next_hold_;
}

// True: the hold begins or continues.
bool GroupFilter::hold(const SignalQueue::Line& line, TimePoint now, Patience patience) {
    if (may_begin_hold(patience)) {
        const int64_t longer = int64_t{1} << holds_in_vain_;
        const bool most = patience.first > patience.most / longer;
        hold_ = Hold{line.digest, now, most ? patience.most : patience.first * longer};
        return true;
    }
    if (!is_holding(line.digest) || patience.most.count() <= 0) return false;
    if (now < hold_deadline()) return true;
    next_hold_ = graph_.groups() + window_;
    holds_in_vain_ = std::min(holds_in_vain_ + 1, kDoublingsMax);
    return false;
}

}  // namespace pace::controller
