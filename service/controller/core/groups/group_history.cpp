#include "service/controller/core/groups/group_history.h"

#include <algorithm>
#include <bit>

namespace pace::controller {

GroupHistory::GroupHistory(uint32_t recent, uint32_t window)
    : recent_max_(std::max(recent, 1U)), window_(std::max(window, 1U)) {}

void GroupHistory::set_window(uint32_t window) {
    window_.assign(std::max(window, 1U), {});
    window_since_ = groups_;
}

// Reuses the oldest record if all are taken.
GroupRecord& GroupHistory::next_record() {
    if (groups_ < recent_max_) return recent_.emplace_back();
    GroupRecord& record = recent_[groups_ % recent_max_];
    if (groups_ - first_ == recent_max_) {
        members_ -= record.times.size();
        ++first_;
    }
    return record;
}

void GroupHistory::forget_excess() {
    while (members_ > kMembersMax && first_ + 1 < groups_) {
        GroupRecord& oldest = recent_[first_ % recent_max_];
        members_ -= oldest.times.size();
        oldest = {};  // frees its memory too
        ++first_;
    }
}

void GroupHistory::on_ordered(const GroupOrder& order, std::span<const Signal> signals,
                              TimePoint now) {
    GroupRecord& record = next_record();
    // Assigned field by field so that the record keeps the memory of its members.
    record.order = order;
    record.times.clear();
    for (const Signal& signal : signals) record.times.push_back({signal.arrived, {}});
    members_ += record.times.size();
    record.ordered = now;
    record.done = record.failed = false;
    record.reason.clear();
    record.moving_ns = record.bytes = 0;
    std::vector<Rank>& members = window_[groups_ % window_.size()];
    members.clear();
    for (const Part& part : order.members) members.push_back(part.rank);
    for (const Part& part : order.members) {
        const auto bucket = static_cast<size_t>(std::bit_width(order.iteration - part.iteration));
        ++staleness_[std::min(bucket, kStalenessBuckets - 1)];
    }
    ++groups_;
    forget_excess();
}

// Group ids increase, so that the ring is sorted from its oldest record on.
GroupRecord* GroupHistory::find(GroupId group) {
    uint64_t first = first_;
    uint64_t end = groups_;
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;
        GroupRecord& record = recent_[middle % recent_max_];
        if (record.order.group == group) return &record;
        if (record.order.group < group) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return nullptr;
}

void GroupHistory::on_part_ended(GroupId group, NodeId node, TimePoint now) {
    GroupRecord* record = find(group);
    if (record == nullptr) return;
    for (size_t i = 0; i < record->times.size(); ++i) {
        std::optional<TimePoint>& ended = record->times[i].ended;
        if (record->order.members[i].node == node && !ended) ended = now;
    }
}

// Members are in rank order. Null if the rank is no member.
GroupRecord::Times* GroupHistory::times_of(GroupRecord& record, Rank rank) {
    const auto& members = record.order.members;
    const auto member = std::lower_bound(members.begin(), members.end(), rank,
                                         [](const Part& part, Rank r) { return part.rank < r; });
    if (member == members.end() || member->rank != rank) return nullptr;
    return &record.times[static_cast<size_t>(member - members.begin())];
}

void GroupHistory::on_member_ended(GroupId group, Rank rank, TimePoint now) {
    GroupRecord* record = find(group);
    if (record == nullptr) return;
    if (GroupRecord::Times* times = times_of(*record, rank)) times->ended = now;
}

void GroupHistory::on_part_told(GroupId group, std::span<const Signal> calls, TimePoint begun,
                                TimePoint ended) {
    GroupRecord* record = find(group);
    if (record == nullptr) return;
    record->ordered = std::max(record->ordered, begun);
    record->ended = std::max(record->ended, ended);
    for (const Signal& call : calls)
        if (GroupRecord::Times* times = times_of(*record, call.rank))
            *times = {call.arrived, ended};
}

void GroupHistory::on_part_done(GroupId group, uint64_t moving_ns, uint64_t bytes) {
    GroupRecord* record = find(group);
    if (record == nullptr) return;
    record->moving_ns = std::max(record->moving_ns, moving_ns);
    record->bytes += bytes;
}

void GroupHistory::on_ended(GroupId group, std::string_view failure, TimePoint now) {
    GroupRecord* record = find(group);
    if (record == nullptr) return;
    record->done = true;
    record->failed = !failure.empty();
    record->reason = failure;
    record->ended = now;
}

std::vector<GroupRecord> GroupHistory::recent() const {
    std::vector<GroupRecord> records;
    for (uint64_t group = first_; group < groups_; ++group)
        records.push_back(recent_[group % recent_max_]);
    return records;
}

std::vector<std::vector<Rank>> GroupHistory::window() const {
    std::vector<std::vector<Rank>> groups;
    for (uint64_t back = std::min<uint64_t>(groups_ - window_since_, window_.size()); back >= 1;
         --back)
        groups.push_back(window_[(groups_ - back) % window_.size()]);
    return groups;
}

}  // namespace pace::controller
