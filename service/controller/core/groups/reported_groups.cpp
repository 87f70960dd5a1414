#include "service/controller/core/groups/reported_groups.h"

#include <algorithm>
#include <functional>

namespace pace::controller {
namespace {

// A wait or an exchange is shorter than a day, and so is a report's age. Daemons keep few reports,
// and after a longer time without a controller they do not matter.
constexpr uint64_t kLongestNs = 86'400'000'000'000;
// In one heartbeat: more than a daemon could run in a day.
constexpr uint64_t kLeftOutMax = uint64_t{1} << 32U;
// Groups remembered until their other parts are reported. A heartbeat reports at most 64 groups, so
// that a part is rarely later. A later part becomes another group in the history; the counts remain
// right.
constexpr size_t kToldMax = 4096;

// Four phases have at most 4 N groups. So the window has all groups of a cycle, and the gap is that
// of the four phases together.
uint32_t window_of(const JobOptions& options) {
    return 4 * options.world;
}

Duration duration(uint64_t ns) {
    return std::chrono::nanoseconds(static_cast<int64_t>(ns));
}

}  // namespace

ReportedGroups::ReportedGroups(const JobOptions& options, std::vector<Worker>& workers,
                               Cluster& cluster)
    : workers_(workers),
      cluster_(cluster),
      history_(cluster.options.recent_groups, window_of(options)) {}

bool ReportedGroups::can_be_true(const GroupReport& report, NodeId node) const {
    const std::vector<Rank>& members = report.members;
    if (members.empty() || members.back() >= workers_.size()) return false;
    const bool ascend =
        std::adjacent_find(members.begin(), members.end(), std::greater_equal<>()) == members.end();
    if (!ascend) return false;
    const bool have_joined = std::all_of(members.begin(), members.end(), [&](Rank rank) {
        return workers_[rank].state != WorkerState::absent;
    });
    const auto here = std::count_if(members.begin(), members.end(),
                                    [&](Rank rank) { return workers_[rank].node == node; });
    const bool has_long_wait = std::any_of(report.waited_ns.begin(), report.waited_ns.end(),
                                           [](uint64_t waited) { return waited > kLongestNs; });
    return have_joined && here > 0 && report.waited_ns.size() == static_cast<size_t>(here) &&
           !has_long_wait && report.moving_ns <= kLongestNs &&
           report.ended_before_ns <= kLongestNs && report.left_out <= kLeftOutMax;
}

void ReportedGroups::on_report(const GroupReport& report, NodeId node, uint64_t epoch,
                               TimePoint now) {
    if (!can_be_true(report, node)) return;
    const TimePoint ended = now - duration(report.ended_before_ns);
    const TimePoint begun = ended - duration(report.moving_ns);
    Told& known = told(report, epoch, begun);
    if (std::find(known.nodes.begin(), known.nodes.end(), node) != known.nodes.end()) return;
    known.nodes.push_back(node);
    add_times(report, node, begun);
    history_.on_part_told(known.group, calls_, begun, ended);
    history_.on_part_done(known.group, report.moving_ns, report.bytes);
    const uint64_t is_first = workers_[report.members.front()].node == node ? 1 : 0;
    statistics_.ordered += is_first + report.left_out;
    statistics_.completed += is_first + report.left_out;
}

ReportedGroups::Told& ReportedGroups::told(const GroupReport& report, uint64_t epoch,
                                           TimePoint begun) {
    const auto [entry, is_new] = told_.try_emplace(report.group);
    if (!is_new) return entry->second;
    Told& known = entry->second;
    known.group = cluster_.next_group++;
    enter(known.group, report, epoch, begun);
    numbers_.push_back(report.group);
    if (numbers_.size() > kToldMax) {
        told_.erase(numbers_.front());
        numbers_.pop_front();
    }
    return known;
}

// Until the others report, their members are assumed to have behaved like those of the first
// report.
void ReportedGroups::enter(GroupId group, const GroupReport& report, uint64_t epoch,
                           TimePoint begun) {
    GroupOrder order;
    order.job = report.job;
    order.group = group;
    order.epoch = epoch;
    order.iteration = report.iteration;
    const double weight = 1.0 / static_cast<double>(report.members.size());
    calls_.clear();
    for (const Rank rank : report.members) {
        order.members.push_back({rank, workers_[rank].node, report.iteration, weight});
        calls_.push_back({rank, 0, report.iteration, begun});
    }
    const TimePoint ended = begun + duration(report.moving_ns);
    history_.on_ordered(order, calls_, begun);
    history_.on_part_told(group, calls_, begun, ended);
    history_.on_ended(group, "", ended);
}

void ReportedGroups::add_times(const GroupReport& report, NodeId node, TimePoint begun) {
    calls_.clear();
    auto next = report.waited_ns.begin();
    for (const Rank rank : report.members) {
        Worker& worker = workers_[rank];
        if (worker.node != node) continue;
        const Duration waited = duration(*next++);
        const Duration exchanged = duration(report.moving_ns);
        calls_.push_back({rank, 0, report.iteration, begun - waited});
        worker.waiting.add(waited);
        worker.exchanging.add(exchanged);
        statistics_.waiting.add(waited);
        statistics_.exchanging.add(exchanged);
    }
}

}  // namespace pace::controller
