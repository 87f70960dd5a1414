#include "service/controller/core/status/worker_views.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "service/controller/core/members/paces.h"

namespace pace::controller {
namespace {

constexpr Duration kLateLeast = std::chrono::seconds(1);
constexpr int kLateSteps = 10;

WorkerStatus status_of(const Job& job, Rank rank) {
    const Worker& worker = job.workers()[rank];
    switch (worker.state) {
        case WorkerState::absent:
        case WorkerState::lost:
            return WorkerStatus::lost;
        case WorkerState::joined:
            return WorkerStatus::joined;
        case WorkerState::newcomer:
        case WorkerState::admitted:
            return WorkerStatus::newcomer;
        case WorkerState::suspended:
            return WorkerStatus::suspended;
        case WorkerState::missing:
            return WorkerStatus::missing;
        case WorkerState::left:
            return WorkerStatus::left;
        case WorkerState::member:
            break;
    }
    if (worker.stopped_since) return WorkerStatus::late;
    if (job.groups() != nullptr) {
        return job.groups()->policy().is_frozen(rank) ? WorkerStatus::late : WorkerStatus::active;
    }
    const Duration patience = std::max<Duration>(kLateLeast, kLateSteps * worker.steps.median());
    return std::chrono::milliseconds(worker.busy_ms) > patience ? WorkerStatus::late
                                                                : WorkerStatus::active;
}

void add_doing_of(const Job& job, TimePoint now, WorkerView& view) {
    const Worker& worker = job.workers()[view.rank];
    const auto set = [&view](Doing doing, Duration since) {
        view.doing = doing;
        view.doing_for = std::max(since, Duration{});
    };
    const bool is_away = worker.state == WorkerState::lost || worker.state == WorkerState::missing;
    if (worker.state == WorkerState::left || worker.state == WorkerState::absent) return;
    const auto silent = silence_of(job.cluster(), worker.node, now);
    if (is_away || silent || job.left_out().contains(worker.node))
        return set(Doing::unreachable, silent.value_or(Duration{}));
    if (worker.stopped_since) return set(Doing::stopped, now - *worker.stopped_since);
    const Duration active = worker.active;
    if (worker.activity == Activity::computing) return set(Doing::computing, active);
    if (worker.activity == Activity::waiting) return set(Doing::waiting, active);
    if (worker.activity == Activity::exchanging) return set(Doing::exchanging, active);
    // The daemon is of the previous release and reports no more than this.
    if (worker.slot != Worker::kNoSlot) return set(Doing::exchanging, {});
    if (view.waiting) return set(Doing::waiting, *view.waiting);
    if (worker.busy_ms > 0) set(Doing::computing, std::chrono::milliseconds(worker.busy_ms));
}

// The workers it waits for are known if the job waits.
std::string awaited_by(Rank rank, const JobView& view) {
    constexpr size_t kNamed = 8;
    for (const WaitView& wait : view.waits) {
        if (std::find(wait.waiting.begin(), wait.waiting.end(), rank) == wait.waiting.end())
            continue;
        std::string names;
        for (size_t i = 0; i < std::min(wait.missing.size(), kNamed); ++i)
            names += (i == 0 ? "" : ", ") + std::to_string(wait.missing[i]);
        return fmt::format("it waits for rank {}{} ({})", names,
                           wait.missing.size() > kNamed ? " and others" : "", wait.what);
    }
    return {};
}

}  // namespace

WorkerView view_of(const Job& job, Rank rank) {
    const Worker& worker = job.workers()[rank];
    WorkerView view;
    view.rank = rank;
    view.node = worker.node;
    view.status = status_of(job, rank);
    view.iteration = worker.iteration;
    view.rounds_submitted = worker.rounds_submitted;
    const bool is_told = worker.computed.is_told() && worker.computed.median().count() > 0;
    view.step_last = is_told ? worker.computed.last() : worker.steps.last();
    view.step_median = is_told ? worker.computed.median() : worker.steps.median();
    view.exchanging = worker.slot != Worker::kNoSlot;
    view.computed = spent(worker.computed);
    // For ordered groups the controller has seen each member's times; otherwise daemons report
    // them.
    const bool by_daemon = job.groups() == nullptr && worker.waited.is_told();
    view.waited = by_daemon ? spent(worker.waited) : spent(worker.waiting);
    view.exchanged = by_daemon ? spent(worker.exchanged) : spent(worker.exchanging);
    view.loss = worker.loss;
    view.samples_per_s = worker.samples_per_s;
    if (worker.training.is_told())
        view.steps = {worker.training.done(), worker.training.total(), worker.training.left_s()};
    view.residual = worker.residual;
    return view;
}

void add_doing(const Job& job, TimePoint now, JobView& view) {
    for (WorkerView& worker : view.workers) add_doing_of(job, now, worker);
}

void add_slowness(const Job& job, TimePoint now, JobView& view) {
    const std::vector<Pace> paces = paces_of(job.workers(), job.cluster(), now);
    auto found = job.slow_workers().judge(paces, now);
    size_t next = 0;  // both are in rank order
    for (WorkerView& worker : view.workers) {
        while (next < paces.size() && paces[next].rank < worker.rank) ++next;
        if (next == paces.size() || paces[next].rank != worker.rank || !found[next]) continue;
        worker.slow = std::move(found[next]);
        if (worker.slow->why != SlowWhy::waiting) continue;
        const std::string awaited = awaited_by(worker.rank, view);
        if (!awaited.empty()) worker.slow->text = awaited;
    }
}

}  // namespace pace::controller
