#include "service/controller/policies/planned_groups.h"

#include <algorithm>
#include <utility>

namespace pace::controller {

PlannedGroups::PlannedGroups(const JobOptions& options)
    : group_size_(options.group_size),
      graph_(options.world, options.group_size, options.history_window),
      wait_(options.group_size, {}),
      members_(options.world) {}

// ----------------------------------------------------------------------------------------- members

void PlannedGroups::add_member(Rank rank, NodeId node, TimePoint now) {
    if (at(rank).phase != Phase::absent) return;
    at(rank) = Member{};
    at(rank).node = node;
    if (present_ > 0) at(rank).requests = requests_of_all_ / present_;
    requests_of_all_ += at(rank).requests;
    ++present_;
    make_eligible(rank);
    begin_computing(rank, now);
}

void PlannedGroups::remove_member(Rank rank) {
    if (at(rank).phase == Phase::absent) return;
    end_computing(rank);
    make_ineligible(rank);
    at(rank).phase = Phase::absent;
    leave_plans(rank);
    leave_ready(rank);
    forget_digest(at(rank));
    requests_of_all_ -= at(rank).requests;
    --present_;
    at(rank) = Member{};
}

bool PlannedGroups::is_eligible(Rank rank) const {
    const size_t place = at(rank).place;
    return place < eligible_.size() && eligible_[place] == rank;
}

void PlannedGroups::make_eligible(Rank rank) {
    if (is_eligible(rank)) return;
    at(rank).place = eligible_.size();
    eligible_.push_back(rank);
    graph_.set_counted(rank, true);
}

void PlannedGroups::make_ineligible(Rank rank) {
    if (!is_eligible(rank)) return;
    const size_t place = at(rank).place;
    at(eligible_.back()).place = place;
    eligible_[place] = eligible_.back();
    eligible_.pop_back();
    graph_.set_counted(rank, false);
}

void PlannedGroups::begin_computing(Rank rank, TimePoint now) {
    Member& member = at(rank);
    member.phase = Phase::computing;
    member.since = now;
    if (!member.frozen) computing_.emplace(now, rank);
}

void PlannedGroups::end_computing(Rank rank) {
    const Member& member = at(rank);
    if (member.phase == Phase::computing) computing_.erase({member.since, rank});
}

void PlannedGroups::freeze(Rank rank) {
    if (at(rank).phase != Phase::computing || at(rank).frozen) return;
    end_computing(rank);
    at(rank).frozen = true;
    make_ineligible(rank);
    leave_plans(rank);
}

void PlannedGroups::freeze_silent(TimePoint now) {
    const Duration patience = wait_.frozen_after();
    while (!computing_.empty() && now - computing_.begin()->first >= patience)
        freeze(computing_.begin()->second);
}

// ----------------------------------------------------------------------------------------- signals

GroupPolicy::Received PlannedGroups::add_signal(const Signal& signal) {
    if (signal.rank >= members_.size()) return Received::refused;
    Member& member = at(signal.rank);
    if (member.phase == Phase::absent || is_waiting(signal.rank)) return Received::refused;
    end_computing(signal.rank);
    if (member.phase == Phase::computing && member.has_exchanged && signal.arrived > member.since)
        wait_.on_step(signal.arrived - member.since);
    member.phase = Phase::waiting;
    member.frozen = false;
    member.signal = signal;
    ++member.requests;
    ++requests_of_all_;
    make_eligible(signal.rank);
    const bool stray = note_digest(signal);
    wait_.on_arrival(signal.arrived);
    provide(signal.rank);
    return stray ? Received::stray : Received::queued;
}

// True if the digest is new for the worker and most others use another.
bool PlannedGroups::note_digest(const Signal& signal) {
    Member& member = at(signal.rank);
    if (member.digest == signal.digest) return false;
    forget_digest(member);
    member.digest = signal.digest;
    const uint32_t own = ++digests_[signal.digest];
    return std::any_of(digests_.begin(), digests_.end(), [&](const auto& kind) {
        return kind.first != signal.digest && kind.second >= own;
    });
}

void PlannedGroups::forget_digest(Member& member) {
    if (!member.digest) return;
    const auto kind = digests_.find(*member.digest);
    if (--kind->second == 0) digests_.erase(kind);
    member.digest.reset();
}

bool PlannedGroups::withdraw(Rank rank, TimePoint now) {
    if (!is_waiting(rank)) return false;
    at(rank).has_exchanged = false;
    begin_computing(rank, now);
    leave_plans(rank);
    leave_ready(rank);
    return true;
}

void PlannedGroups::release(Rank rank, TimePoint now) {
    if (at(rank).phase != Phase::exchanging) return;
    at(rank).has_exchanged = true;
    begin_computing(rank, now);
}

// ------------------------------------------------------------------------------------------- plans

// The worker waits. Plans a group for the worker if it has none.
void PlannedGroups::provide(Rank rank) {
    if (at(rank).buffer.empty()) plan(rank);
    if (at(rank).buffer.empty()) return;
    const PlanId front = at(rank).buffer.front();
    note_conflict(front, rank);
    check(front);
}

// Called when `first` waits with the group at the front of its buffer.
void PlannedGroups::note_conflict(PlanId id, Rank first) {
    Plan& plan = plans_.at(id);
    if (std::exchange(plan.is_awaited, true)) return;
    const bool conflict = std::any_of(plan.members.begin(), plan.members.end(), [&](Rank rank) {
        return rank != first && is_elsewhere(rank, id, first);
    });
    if (conflict) ++conflicts_;
}

bool PlannedGroups::is_elsewhere(Rank rank, PlanId id, Rank first) const {
    const Member& member = at(rank);
    const bool exchanges = member.phase == Phase::due || member.phase == Phase::exchanging;
    return (exchanges && member.last != at(first).last) || member.buffer.front() != id;
}

void PlannedGroups::add_plan(std::vector<Rank> members) {
    const PlanId id = next_plan_++;
    for (const Rank rank : members) at(rank).buffer.push_back(id);
    plans_.emplace(id, Plan{std::move(members)});
}

std::vector<PlannedGroups::PlanId> PlannedGroups::latest_plans(size_t most) const {
    std::vector<PlanId> latest;
    for (auto plan = plans_.rbegin(); plan != plans_.rend() && latest.size() < most; ++plan)
        latest.push_back(plan->first);
    return latest;
}

void PlannedGroups::join_plan(PlanId id, Rank rank) {
    at(rank).buffer.push_back(id);
    plans_.at(id).members.push_back(rank);
}

void PlannedGroups::leave_plans(Rank rank) {
    const std::deque<PlanId> plans = std::exchange(at(rank).buffer, {});
    for (const PlanId id : plans) leave_plan(id, rank);
}

void PlannedGroups::leave_plan(PlanId id, Rank rank) {
    std::vector<Rank>& members = plans_.at(id).members;
    std::erase(members, rank);
    if (members.size() > 1) {
        check(id);
        return;
    }
    if (members.empty()) {
        plans_.erase(id);
        return;
    }
    const Rank alone = members.front();
    plans_.erase(id);
    std::erase(at(alone).buffer, id);
    if (at(alone).phase == Phase::waiting) provide(alone);
}

void PlannedGroups::leave_ready(Rank rank) {
    for (std::vector<Rank>& group : ready_) std::erase(group, rank);
    std::erase_if(ready_, [](const std::vector<Rank>& group) { return group.empty(); });
}

// Runs the group if all its members wait with it at the front.
void PlannedGroups::check(PlanId id) {
    const std::vector<Rank>& members = plans_.at(id).members;
    const bool all = std::all_of(members.begin(), members.end(), [&](Rank rank) {
        return at(rank).phase == Phase::waiting && at(rank).buffer.front() == id;
    });
    if (all) take(id);
}

void PlannedGroups::take(PlanId id) {
    std::map<uint32_t, std::vector<Rank>> kinds;
    for (const Rank rank : plans_.at(id).members) {
        kinds[at(rank).signal.digest].push_back(rank);
        at(rank).buffer.pop_front();
        at(rank).last = id;
        at(rank).phase = Phase::due;
    }
    plans_.erase(id);
    for (auto& [digest, members] : kinds) ready_.push_back(std::move(members));
}

// ------------------------------------------------------------------------------------------ groups

bool PlannedGroups::next_group(TimePoint now, std::vector<Signal>& ret_group) {
    freeze_silent(now);
    if (ready_.empty()) return false;
    ret_group.clear();
    const std::vector<Rank> members = std::move(ready_.front());
    ready_.pop_front();
    for (const Rank rank : members) {
        ret_group.push_back(at(rank).signal);
        at(rank).phase = Phase::exchanging;
    }
    record(members);
    wait_.on_group(now);
    return true;
}

// A group larger than usual counts as several groups that overlap.
void PlannedGroups::record(std::span<const Rank> members) {
    for (size_t first = 0; first == 0 || first + 1 < members.size(); first += group_size_ - 1)
        graph_.add_group(
            members.subspan(first, std::min<size_t>(group_size_, members.size() - first)));
}

std::optional<TimePoint> PlannedGroups::next_deadline() const {
    if (computing_.empty() || plans_.empty()) return std::nullopt;
    return computing_.begin()->first + wait_.frozen_after();
}

PolicyView PlannedGroups::view() const {
    PolicyView view;
    for (const Member& member : members_)
        if (member.phase == Phase::waiting || member.phase == Phase::due)
            view.waiting.push_back(member.signal);
    std::stable_sort(view.waiting.begin(), view.waiting.end(),
                     [](const Signal& a, const Signal& b) { return a.arrived < b.arrived; });
    view.names_groups = true;
    for (const auto& [id, plan] : plans_) {
        PolicyView::Incomplete group;
        for (const Rank rank : plan.members) {
            const Member& member = at(rank);
            const bool has_come = member.phase == Phase::waiting && !member.buffer.empty() &&
                                  member.buffer.front() == id;
            (has_come ? group.waiting : group.missing).push_back(rank);
        }
        if (!group.waiting.empty() && !group.missing.empty())
            view.incomplete.push_back(std::move(group));
    }
    view.median_step = wait_.median_step();
    view.components = graph_.components();
    view.counted = static_cast<uint32_t>(eligible_.size());
    return view;
}

}  // namespace pace::controller
