#include "service/controller/core/group_history.h"

#include <algorithm>
#include <bit>

namespace pace::controller {

GroupHistory::GroupHistory(uint32_t recent, uint32_t window)
    : recent_(std::max(recent, 1U)), window_(std::max(window, 1U)) {}

void GroupHistory::on_ordered(const GroupOrder& order, TimePoint now) {
    GroupRecord& record = recent_[groups_ % recent_.size()];
    // Assigned field by field so that the record keeps the memory of its members.
    record.order = order;
    record.ordered = now;
    record.done = record.failed = false;
    record.moving_ns = record.bytes = 0;
    std::vector<Rank>& members = window_[groups_ % window_.size()];
    members.clear();
    for (const GroupOrder::Part& part : order.members) members.push_back(part.rank);
    for (const GroupOrder::Part& part : order.members) {
        const auto bucket = static_cast<size_t>(std::bit_width(order.iteration - part.iteration));
        ++staleness_[std::min(bucket, kStalenessBuckets - 1)];
    }
    ++groups_;
}

// Group ids grow, so that the ring is sorted from its oldest record on.
GroupRecord* GroupHistory::find(GroupId group) {
    uint64_t first = groups_ - std::min<uint64_t>(groups_, recent_.size());
    uint64_t end = groups_;
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;
        GroupRecord& record = recent_[middle % recent_.size()];
        if (record.order.group == group) return &record;
        if (record.order.group < group) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return nullptr;
}

void GroupHistory::on_part_done(GroupId group, uint64_t moving_ns, uint64_t bytes) {
    GroupRecord* record = find(group);
    if (record == nullptr) return;
    record->moving_ns = std::max(record->moving_ns, moving_ns);
    record->bytes += bytes;
}

void GroupHistory::on_ended(GroupId group, bool failed, TimePoint now) {
    GroupRecord* record = find(group);
    if (record == nullptr) return;
    record->done = true;
    record->failed = failed;
    record->ended = now;
}

std::vector<GroupRecord> GroupHistory::recent() const {
    std::vector<GroupRecord> records;
    const uint64_t kept = std::min<uint64_t>(groups_, recent_.size());
    for (uint64_t back = kept; back >= 1; --back) {
        records.push_back(recent_[(groups_ - back) % recent_.size()]);
    }
    return records;
}

std::vector<std::vector<Rank>> GroupHistory::window() const {
    std::vector<std::vector<Rank>> groups;
    for (uint64_t back = std::min<uint64_t>(groups_, window_.size()); back >= 1; --back)
        groups.push_back(window_[(groups_ - back) % window_.size()]);
    return groups;
}

}  // namespace pace::controller
