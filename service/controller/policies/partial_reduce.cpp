#include "service/controller/policies/partial_reduce.h"

#include <algorithm>

namespace pace::controller {

PartialReduce::PartialReduce(const JobOptions& options)
    : group_size_(options.group_size),
      group_min_(options.group_min),
      queue_(options.world),
      filter_(options.world, options.group_size, options.history_window),
      wait_(options.group_size, std::chrono::milliseconds(options.group_wait_ms)),
      members_(options.world) {}

// ----------------------------------------------------------------------------------------- members

void PartialReduce::add_member(Rank rank, NodeId /*node*/, TimePoint now) {
    if (members_[rank].phase != Phase::absent) return;
    members_[rank] = MemberState{};
    set_counted(rank, true);
    begin_computing(rank, now);
}

void PartialReduce::remove_member(Rank rank) {
    MemberState& member = members_[rank];
    if (member.phase == Phase::absent) return;
    leave_queue(rank);
    end_computing(rank);
    if (!member.frozen) set_counted(rank, false);
    member = MemberState{};
}

void PartialReduce::begin_computing(Rank rank, TimePoint now) {
    MemberState& member = members_[rank];
    member.phase = Phase::computing;
    member.since = now;
    member.earlier = latest_computing_;
    member.later = kNoRank;
    (latest_computing_ == kNoRank ? longest_computing_ : members_[latest_computing_].later) = rank;
    latest_computing_ = rank;
}

// A frozen member has already left the list of computing members.
void PartialReduce::end_computing(Rank rank) {
    const MemberState& member = members_[rank];
    if (member.phase != Phase::computing || member.frozen) return;
    (member.earlier == kNoRank ? longest_computing_ : members_[member.earlier].later) =
        member.later;
    (member.later == kNoRank ? latest_computing_ : members_[member.later].earlier) = member.earlier;
}

void PartialReduce::freeze(Rank rank) {
    if (members_[rank].phase != Phase::computing || members_[rank].frozen) return;
    end_computing(rank);
    set_counted(rank, false);
    members_[rank].frozen = true;
}

void PartialReduce::freeze_silent(TimePoint now) {
    const Duration patience = wait_.frozen_after();
    while (longest_computing_ != kNoRank) {
        const Rank rank = longest_computing_;
        if (now - members_[rank].since < patience) return;
        freeze(rank);
    }
}

void PartialReduce::set_counted(Rank rank, bool counted) {
    const MemberState& member = members_[rank];
    const uint32_t change = counted ? 1 : ~uint32_t{0};  // +1 or -1, modulo 2^32
    counted_ += change;
    if (!member.has_digest) {
        counted_without_digest_ += change;
    } else {
        const auto entry = counted_by_digest_.try_emplace(member.digest, 0).first;
        entry->second += change;
        if (entry->second == 0) counted_by_digest_.erase(entry);
    }
    filter_.set_counted(rank, counted && (!member.has_digest || member.digest == main_digest_));
}

uint32_t PartialReduce::counted_of(uint32_t digest) const {
    const auto kind = counted_by_digest_.find(digest);
    return kind == counted_by_digest_.end() ? 0 : kind->second;
}

// A digest becomes the main one when it has twice the members of the present one. Recounting costs
// as much as there are members, and so must not happen at every signal when workers average two
// kinds of buffers in turn.
bool PartialReduce::is_main_kind(uint32_t digest) {
    if (main_digest_ == digest) return true;
    if (main_digest_ && counted_of(digest) < 2 * counted_of(*main_digest_)) return false;
    main_digest_ = digest;
    for (Rank rank = 0; rank < members_.size(); ++rank) {
        const MemberState& member = members_[rank];
        const bool counted = member.phase != Phase::absent && !member.frozen;
        filter_.set_counted(rank, counted && (!member.has_digest || member.digest == digest));
    }
    return true;
}

// ----------------------------------------------------------------------------------------- signals

GroupPolicy::Received PartialReduce::add_signal(const Signal& signal) {
    if (signal.rank >= members_.size()) return Received::refused;
    MemberState& member = members_[signal.rank];
    if (member.phase == Phase::absent || member.phase == Phase::waiting) return Received::refused;
    end_computing(signal.rank);
    // An exchange that was aborted, or that the signal itself ended, gives no step to measure.
    if (member.phase == Phase::computing && member.has_exchanged && signal.arrived > member.since) {
        wait_.on_step(signal.arrived - member.since);
    }
    const bool stray = note_digest(signal.rank, signal.digest);
    member.phase = Phase::waiting;
    queue_.push(signal);
    wait_.on_arrival(signal.arrived);
    return stray ? Received::stray : Received::queued;
}

bool PartialReduce::leave_queue(Rank rank) {
    if (!queue_.remove(rank)) return false;
    filter_.on_removed(queue_, rank);
    return true;
}

// Counts the member, unfrozen if necessary, under its digest. True if the digest is new for the
// member and most others use another.
bool PartialReduce::note_digest(Rank rank, uint32_t digest) {
    MemberState& member = members_[rank];
    const bool news = !member.has_digest || member.digest != digest;
    if (!news && !member.frozen) return false;
    if (!member.frozen) set_counted(rank, false);
    member.frozen = false;
    member.has_digest = true;
    member.digest = digest;
    set_counted(rank, true);
    if (!news) return false;
    const uint32_t own_kind = counted_by_digest_.at(digest);
    return std::any_of(counted_by_digest_.begin(), counted_by_digest_.end(), [&](const auto& kind) {
        return kind.first != digest && kind.second >= own_kind;
    });
}

bool PartialReduce::withdraw(Rank rank, TimePoint now) {
    if (!leave_queue(rank)) return false;
    members_[rank].has_exchanged = false;
    begin_computing(rank, now);
    return true;
}

void PartialReduce::release(Rank rank, TimePoint now) {
    if (members_[rank].phase != Phase::exchanging) return;
    members_[rank].has_exchanged = true;
    begin_computing(rank, now);
}

// ------------------------------------------------------------------------------------------ groups

uint32_t PartialReduce::full_size() const {
    return std::min(group_size_, counted_);
}

// The smallest group that group_wait closes: only workers of the same digest can fill it.
uint32_t PartialReduce::least_size(uint32_t digest) const {
    return std::min(group_min_, counted_of(digest) + counted_without_digest_);
}

// How many of `size` signals of a digest form a group now; 0 if none is due. `first` is the
// earliest signal.
uint32_t PartialReduce::size_due(uint32_t digest, Rank first, uint32_t size, TimePoint now) const {
    const uint32_t full = full_size();
    if (size >= full) return full;
    if (now - queue_.signal(first).arrived < wait_.wait()) return 0;
    return size >= least_size(digest) ? size : 0;
}

bool PartialReduce::next_group(TimePoint now, std::vector<Signal>& ret_group) {
    if (queue_.size() == 0) return false;
    freeze_silent(now);
    for (const SignalQueue::Line& line : queue_.lines()) {
        if (!choose(line, now) && !choose_behind_held(line, now)) continue;
        take(now, ret_group);
        return true;
    }
    return false;
}

// Chooses the next group of the line. False if no group is due, or if the group is held.
bool PartialReduce::choose(const SignalQueue::Line& line, TimePoint now) {
    const uint32_t size = size_due(line.digest, line.first, line.size, now);
    if (size == 0) {
        filter_.end_hold(line.digest);
        return false;
    }
    if (!is_main_kind(line.digest)) {
        filter_.end_hold(line.digest);
        queue_.take(line.first, size, chosen_);
        return true;
    }
    // A smaller group has already waited for more members, and is not held for a bridge as well.
    const bool full = size == full_size();
    const GroupFilter::Patience patience =
        full ? GroupFilter::Patience{wait_.usual(), wait_.wait()} : GroupFilter::Patience{};
    return filter_.choose(queue_, line, size, now, patience, chosen_);
}

// The earliest signal behind the held group; kNoRank if there is none or no group is held.
Rank PartialReduce::first_behind_held(const SignalQueue::Line& line) const {
    const uint32_t held = full_size();
    if (!filter_.is_holding(line.digest) || line.size <= held) return kNoRank;
    Rank rank = line.first;
    for (uint32_t i = 0; i < held; ++i) rank = queue_.next(rank);
    return rank;
}

// While a group is held, the signals behind it, none of which bridges, pass.
bool PartialReduce::choose_behind_held(const SignalQueue::Line& line, TimePoint now) {
    const Rank first = first_behind_held(line);
    if (first == kNoRank) return false;
    const uint32_t size = size_due(line.digest, first, line.size - full_size(), now);
    if (size == 0) return false;
    queue_.take(first, size, chosen_);
    return true;
}

void PartialReduce::take(TimePoint now, std::vector<Signal>& ret_group) {
    ret_group.clear();
    for (const Rank rank : chosen_) {
        ret_group.push_back(queue_.signal(rank));
        leave_queue(rank);
        members_[rank].phase = Phase::exchanging;
    }
    if (ret_group.front().digest == main_digest_) filter_.record(chosen_);
    wait_.on_group(now);
}

std::optional<TimePoint> PartialReduce::next_deadline() const {
    if (queue_.size() == 0) return std::nullopt;
    std::optional<TimePoint> earliest;
    const auto consider = [&](TimePoint when) {
        earliest = std::min(earliest.value_or(when), when);
    };
    for (const SignalQueue::Line& line : queue_.lines()) {
        const bool held = filter_.is_holding(line.digest);
        if (held) consider(filter_.hold_deadline());
        const Rank first = held ? first_behind_held(line) : line.first;
        const uint32_t size = held ? line.size - std::min(line.size, full_size()) : line.size;
        if (first != kNoRank && size >= least_size(line.digest)) {
            consider(queue_.signal(first).arrived + wait_.wait());
        }
    }
    // A group that is too small may become large enough when another member freezes.
    if (longest_computing_ != kNoRank) {
        consider(members_[longest_computing_].since + wait_.frozen_after());
    }
    return earliest;
}

PolicyView PartialReduce::view() const {
    PolicyView view;
    for (const SignalQueue::Line& line : queue_.lines()) {
        for (Rank rank = line.first; rank != kNoRank; rank = queue_.next(rank)) {
            view.waiting.push_back(queue_.signal(rank));
        }
    }
    view.group_wait = wait_.wait();
    view.median_step = wait_.median_step();
    view.components = filter_.components();
    view.counted = counted_;
    view.holding = filter_.is_holding();
    return view;
}

}  // namespace pace::controller
