#include "service/controller/core/status/status_builder.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "service/controller/core/groups/components.h"
#include "service/controller/core/groups/spectral_gap.h"
#include "service/controller/core/status/worker_views.h"

namespace pace::controller {
namespace {

constexpr double kSlowFactor = 1.5;  // below this a slowest worker is normal

void add_stage(const Job& job, TimePoint now, JobView& view) {
    const auto finished = job.attendance().finished_since(now);
    view.stage = finished           ? JobStage::finished
                 : job.is_started() ? JobStage::running
                                    : JobStage::joining;
    if (finished) view.finished_for = now - *finished;
}

void add_steps(const WorkerView& worker, JobView& view) {
    if (!worker.steps) return;
    const auto left = [](const StepsView& steps) { return steps.left_s.value_or(-1); };
    if (!view.steps || left(*worker.steps) > left(*view.steps)) view.steps = worker.steps;
}

void add_residual(const WorkerView& worker, JobView& view) {
    if (!worker.residual) return;
    KeptResidual& all = view.residual ? *view.residual : view.residual.emplace();
    all.bytes += worker.residual->bytes;
    all.exchanges = std::max(all.exchanges, worker.residual->exchanges);
}

// What its workers have told, of the job as a whole.
void add_told(const Job& job, JobView& view) {
    if (view.stage == JobStage::finished) return;
    for (const WorkerView& worker : view.workers) {
        if (!is_taking_part(job.workers()[worker.rank].state)) continue;
        add_steps(worker, view);
        add_residual(worker, view);
    }
}

void name_slowest(JobView& view) {
    std::vector<Duration> steps;
    const WorkerView* slowest = nullptr;
    for (const WorkerView& worker : view.workers) {
        if (worker.step_median.count() == 0 || worker.status > WorkerStatus::late) continue;
        steps.push_back(worker.step_median);
        if (slowest == nullptr || worker.step_median > slowest->step_median) slowest = &worker;
    }
    if (slowest == nullptr) return;
    // The lower median: of two workers the slower one stands out.
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
    std::nth_element(steps.begin(), middle, steps.end());
    view.step_median = *middle;
    const double factor =
        static_cast<double>(slowest->step_median.count()) / static_cast<double>(middle->count());
    if (factor >= kSlowFactor) view.slow = SlowWorker{slowest->rank, factor};
}

std::optional<ProgressSpread> progress_of(const Job& job) {
    std::optional<ProgressSpread> spread;
    for (Rank rank = 0; rank < job.workers().size(); ++rank) {
        const Worker& worker = job.workers()[rank];
        if (!is_taking_part(worker.state)) continue;
        const bool averages = family_of(job.options().policy) == Family::averaging;
        const uint64_t done = averages ? worker.iteration : worker.rounds_submitted;
        if (!spread) spread = {rank, rank, done, done};
        if (done < spread->least) {
            spread->least = done;
            spread->last = rank;
        }
        if (done > spread->most) {
            spread->most = done;
            spread->first = rank;
        }
    }
    return spread;
}

void add_statistics(const GroupStatistics& statistics, JobView& view) {
    view.groups_ordered = statistics.ordered;
    view.groups_completed = statistics.completed;
    view.groups_failed = statistics.failed;
    view.waited = spent(statistics.waiting);
    view.exchanged = spent(statistics.exchanging);
}

// The last groups, over the workers that take part, renumbered. A rank that is gone is absent, and
// must not appear as unmixed.
struct Mixing {
    uint32_t workers = 0;
    std::vector<std::vector<Rank>> groups;
};

Mixing mixing_of(const Job& job, const GroupHistory& history) {
    std::unordered_map<Rank, Rank> index;
    for (Rank rank = 0; rank < job.workers().size(); ++rank) {
        if (is_taking_part(job.workers()[rank].state))
            index.emplace(rank, static_cast<Rank>(index.size()));
    }
    std::vector<std::vector<Rank>> groups = history.window();
    for (std::vector<Rank>& group : groups) {
        std::erase_if(group, [&](Rank rank) { return !index.contains(rank); });
        for (Rank& rank : group) rank = index.at(rank);
    }
    std::erase_if(groups, [](const std::vector<Rank>& group) { return group.empty(); });
    return {static_cast<uint32_t>(index.size()), std::move(groups)};
}

void add_history(const GroupHistory& history, const Mixing& mixing, JobView& view) {
    view.recent_groups = history.recent();
    view.staleness = history.staleness();
    view.spectral_gap = spectral_gap(mixing.workers, mixing.groups);
}

void add_reported_groups(const Job& job, JobView& view) {
    const ReportedGroups& groups = *job.reported_groups();
    const Mixing mixing = mixing_of(job, groups.history());
    add_history(groups.history(), mixing, view);
    add_statistics(groups.statistics(), view);
    view.sync_components = components(mixing.workers, mixing.groups);
}

// Shorter waits are not shown.
constexpr Duration kWaitLeast = std::chrono::seconds(1);

std::optional<Duration> waited_of(const JobView& view, Rank rank) {
    const auto found = std::lower_bound(
        view.workers.begin(), view.workers.end(), rank,
        [](const WorkerView& worker, Rank wanted) { return worker.rank < wanted; });
    return found != view.workers.end() && found->rank == rank ? found->waiting : std::nullopt;
}

void add_group_wait(std::vector<Rank> waiting, std::vector<Rank> missing, std::string what,
                    JobView& view) {
    Duration longest{};
    for (const Rank rank : waiting)
        longest = std::max(longest, waited_of(view, rank).value_or(Duration{}));
    if (longest < kWaitLeast || missing.empty()) return;
    view.waits.push_back({std::move(what), std::move(waiting), std::move(missing), longest});
}

void add_group_waits(const PolicyView& policy, JobView& view) {
    for (const PolicyView::Incomplete& group : policy.incomplete)
        add_group_wait(group.waiting, group.missing, "a group that was named", view);
    if (policy.names_groups) return;
    std::vector<Rank> waiting;
    std::vector<Rank> missing;
    for (const WorkerView& worker : view.workers) {
        const bool takes_part =
            worker.status == WorkerStatus::active || worker.status == WorkerStatus::late;
        if (worker.waiting)
            waiting.push_back(worker.rank);
        else if (takes_part && !worker.exchanging)
            missing.push_back(worker.rank);
    }
    add_group_wait(std::move(waiting), std::move(missing), "a group", view);
}

// Heartbeats tell the controller which workers have called in a round.
void add_round_wait(const Job& job, JobView& view) {
    uint64_t most = 0;
    for (const WorkerView& worker : view.workers)
        if (is_taking_part(job.workers()[worker.rank].state))
            most = std::max(most, worker.rounds_submitted);
    WaitView wait;
    bool lasts = false;
    for (const WorkerView& shown : view.workers) {
        const Worker& worker = job.workers()[shown.rank];
        if (!is_taking_part(worker.state)) continue;
        const bool has_called = worker.rounds_submitted == most && worker.busy_ms == 0;
        if (has_called) wait.waiting.push_back(shown.rank);
        if (worker.rounds_submitted >= most) continue;
        wait.missing.push_back(shown.rank);
        lasts = lasts || std::chrono::milliseconds(worker.busy_ms) >= kWaitLeast ||
                shown.waiting.value_or(Duration{}) >= kWaitLeast;
    }
    if (!lasts || wait.waiting.empty() || wait.missing.empty()) return;
    wait.what = "round " + std::to_string(most - 1);
    view.waits.push_back(std::move(wait));
}

void add_pull_wait(const Server& order, TimePoint now, JobView& view) {
    const auto held = order.held_up();
    if (!held || now - held->since < kWaitLeast) return;
    view.waits.push_back({"the model, which staleness holds back until step " +
                              std::to_string(order.clocks().slowest()) + " is over",
                          held->waiting, held->slow, now - held->since});
}

void add_groups(const Job& job, TimePoint now, JobView& view) {
    const Groups& groups = *job.groups();
    const PolicyView policy = groups.policy().view();
    std::unordered_map<Rank, Duration> waiting;
    for (const Signal& signal : policy.waiting) waiting.emplace(signal.rank, now - signal.arrived);
    for (WorkerView& worker : view.workers) {
        const auto found = waiting.find(worker.rank);
        if (found != waiting.end()) worker.waiting = found->second;
    }
    add_group_waits(policy, view);
    view.group_wait = policy.group_wait;
    view.sync_components = policy.components;
    view.holding = policy.holding;
    view.groups_in_flight = groups.in_flight();
    view.bridged_groups = groups.bridged_groups();
    view.conflicts = groups.conflicts();
    if (const AutoPolicy* chosen = groups.automatic())
        view.automatic = {chosen->shape().policy, chosen->shape().group_size, chosen->reason(),
                          chosen->switches()};
    add_history(groups.history(), mixing_of(job, groups.history()), view);
    add_statistics(groups.statistics(), view);
}

}  // namespace

NodeView view_of(const Node& node, TimePoint now) {
    NodeView view{node.id, node.name, node.host,  node.processors, node.workers,  NodeStatus::alive,
                  {},      {},        node.label, node.nccl,       node.draining, node.release};
    if (!node.attached) {
        view.status = NodeStatus::gone;
        return view;
    }
    view.machine = node.machine;
    if (node.probe_deadline) view.status = NodeStatus::suspected;
    view.silent = now - node.liveness.heard();
    view.patience = node.liveness.patience();
    if (node.unix_ms != 0)
        view.unix_ms = node.unix_ms +
                       static_cast<uint64_t>((now - node.unix_told) / std::chrono::milliseconds(1));
    return view;
}

namespace {

ModelView view_of(const ServerJob& server) {
    const Server& order = server.order();
    ModelView view;
    view.position = order.position();
    view.generation = server.generation();
    view.waits = server.absent_until().has_value();
    view.slowest = order.clocks().slowest();
    view.fastest = order.clocks().fastest();
    view.pushes = order.clocks().pushes();
    view.live_versions = order.live_versions().size();
    view.statistics = order.statistics();
    view.places = server.places();
    view.checkpoint = server.checkpoints().last();
    view.checkpoint_failure = server.checkpoints().failure();
    return view;
}

}  // namespace

JobView view_of(const Job& job, TimePoint now) {
    JobView view;
    view.job = job.id();
    view.options = job.options();
    view.uid = job.uid();
    view.run = job.run();
    view.epoch = job.views().epoch();
    view.base_round = job.views().view().base_round;
    view.started = job.is_started();
    view.changing_view = job.views().is_changing();
    view.gathering = job.attendance().is_gathering();
    view.left_out.assign(job.left_out().nodes().begin(), job.left_out().nodes().end());
    for (Rank rank = 0; rank < job.workers().size(); ++rank) {
        if (job.workers()[rank].state != WorkerState::absent)
            view.workers.push_back(view_of(job, rank));
    }
    name_slowest(view);
    view.progress = progress_of(job);
    if (job.groups() != nullptr) add_groups(job, now, view);
    if (job.reported_groups() != nullptr) add_reported_groups(job, view);
    if (job.server() != nullptr) view.model = view_of(*job.server());
    if (job.server() != nullptr) add_pull_wait(job.server()->order(), now, view);
    if (job.is_started()) add_round_wait(job, view);
    add_doing(job, now, view);
    add_slowness(job, now, view);
    add_stage(job, now, view);
    add_told(job, view);
    return view;
}

std::vector<ZoneView> zones_of(const Job& job, const Membership& nodes) {
    std::map<uint32_t, ZoneView> zones;
    for (const NodeId node : nodes_of(job.views().view().members)) {
        const uint32_t zone = job.zone_of(node);
        if (zone == 0) continue;
        const Node* known = nodes.find(node);
        ZoneView& view = zones[zone];
        view.zone = zone;
        if (known != nullptr) view.label = known->label;
        view.nodes.push_back(node);
    }
    std::vector<ZoneView> list;
    for (auto& [zone, view] : zones) list.push_back(std::move(view));
    return list;
}

std::vector<LinkView> links_of(const LinkTable& links) {
    std::vector<LinkView> list;
    for (const auto& [from, own] : links.all())
        for (const auto& [to, link] : own) list.push_back({from, to, link});
    return list;
}

std::vector<CutView> cuts_of(const CutLinks& cuts, TimePoint now) {
    std::vector<CutView> list;
    for (const auto& [pair, cut] : cuts.all())
        if (cut.counts) list.push_back({pair.low, pair.high, now - cut.since});
    return list;
}

}  // namespace pace::controller
