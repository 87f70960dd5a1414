#include "daemon/families/groups/ended_groups.h"

#include <algorithm>
#include <utility>

namespace pace::daemon {

void EndedGroups::add(control::GroupReport report, bool counts, uint64_t ended_ns) {
    members_ += report.members.size();
    ended_.push_back({std::move(report), counts, ended_ns});
    while (ended_.size() > kGroupsMax || (members_ > kMembersMax && ended_.size() > 1)) {
        members_ -= ended_.front().report.members.size();
        left_out_ += ended_.front().counts ? 1 : 0;
        ended_.pop_front();
    }
}

void EndedGroups::take(control::JobId job, uint64_t now_ns,
                       std::vector<control::GroupReport>& ret_reports) {
    if (ended_.empty()) return;
    ended_.front().report.left_out = std::exchange(left_out_, 0);
    for (Ended& ended : ended_) {
        ended.report.job = job;
        ended.report.ended_before_ns = now_ns - std::min(now_ns, ended.at_ns);
        ret_reports.push_back(std::move(ended.report));
    }
    ended_.clear();
    members_ = 0;
}

}  // namespace pace::daemon
