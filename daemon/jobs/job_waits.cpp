// Job: what its workers' requests wait for. Nothing of this is stored: it is determined when
// somebody asks.
#include <algorithm>
#include <chrono>

#include "base/log/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/jobs/job.h"

namespace pace::daemon {

using protocol::Verb;

// What the worker waits for before it can take part; empty if it can.
std::string Job::awaited_at_the_door(const Worker& worker) const {
    const control::JobOptions& options = state_.options;
    if (!worker.resuming && !worker.newcomer && state_.view.epoch != 0) return {};
    if (!state_.services.control.attached()) return kNoController;
    if (worker.resuming) return "the controller to take this node's workers in again";
    if (!worker.newcomer) {
        const bool all = options.min_workers == 0;
        return fmt::format("{} {} workers to join (pacectl job show {} names who has not)",
                           all ? "all" : "at least", all ? options.world : options.min_workers,
                           options.name);
    }
    const std::string cut = state_.cut_off();
    if (!cut.empty())
        return "the network: this worker is kept out of the job, which goes on, as long as " + cut;
    return worker.suspended
               ? "its place in the job, out of which it was taken: the next view has it again"
               : "its place in the job, which is under way: the next view has it";
}

std::string Job::awaited_by(const Worker& worker) const {
    using State = Worker::State;
    const bool has_begun = worker.state == State::moving || worker.state == State::taking;
    if (!has_begun) {
        if (std::string door = awaited_at_the_door(worker); !door.empty()) return door;
    }
    switch (worker.state) {
        case State::waiting:
            return rounds_.awaited(worker);
        case State::moving:
            return worker.head().verb == Verb::average ? groups_.awaited(worker)
                                                       : rounds_.awaited(worker);
        case State::ready:
            return groups_.awaited(worker);
        case State::adopting:
            return adoptions_.awaited(worker);
        case State::taking:
            return "a copy of the model to be made here";
        case State::pulling:
            return serving_ ? serving_->awaited(worker) : "the model";
        case State::idle:
        case State::refused:
            break;
    }
    return "the controller";
}

std::vector<Wait> Job::waits(uint64_t now_ns, base::Duration least) const {
    std::vector<Wait> waits;
    const auto add = [&](control::Rank rank, const Request& request, auto&& what) {
        const uint64_t waited_ns = now_ns - std::min(now_ns, request.submitted_ns);
        if (std::chrono::nanoseconds(waited_ns) >= least)
            waits.push_back({rank, request.id, request.verb, what(), waited_ns});
    };
    for (const auto& [rank, worker] : state_.workers) {
        bool is_first = true;
        for (const Request& request : worker->queue) {
            add(rank, request, [&, worker = worker.get()] {
                return is_first ? awaited_by(*worker)
                                : fmt::format("the {} that this worker called before",
                                              protocol::name_of(worker->head().verb));
            });
            is_first = false;
        }
        if (!serving_) continue;
        serving_->for_each_aside(
            rank, [&, worker = worker.get()](const Request& request, const std::string& what) {
                add(rank, request, [&] {
                    std::string door = awaited_at_the_door(*worker);
                    return door.empty() ? what : door;
                });
            });
    }
    return waits;
}

void Job::tell_waits(uint64_t now_ns) {
    std::map<std::pair<control::Rank, uint64_t>, uint64_t> logged;
    for (const Wait& wait : waits(now_ns, state_.services.options.wait_notice)) {
        const WorkerPtr worker = state_.find(wait.rank);
        if (worker && worker->port != nullptr) worker->port->request_waits(wait.request, wait.what);
        const auto before = waits_logged_.find({wait.rank, wait.request});
        // Logs at growing intervals: again when the wait is twice as long as at the last line.
        const uint64_t due_ns = before == waits_logged_.end() ? 0 : 2 * before->second;
        uint64_t& waited_ns = logged[{wait.rank, wait.request}];
        waited_ns = wait.waited_ns < due_ns ? before->second : wait.waited_ns;
        if (wait.waited_ns < due_ns) continue;
        state_.services.recorder->note({.kind = RecordKind::call_waits,
                                        .detail = static_cast<uint8_t>(wait.verb),
                                        .job = state_.id,
                                        .rank = wait.rank,
                                        .number = wait.request,
                                        .amount = wait.waited_ns / 1'000'000});
        base::log_event(base::events::kCallWaits, {{"job", state_.options.name},
                                                   {"rank", wait.rank},
                                                   {"call", protocol::name_of(wait.verb)},
                                                   {"for_s", wait.waited_ns / 1'000'000'000},
                                                   {"waits_for", wait.what}});
    }
    waits_logged_ = std::move(logged);
}

}  // namespace pace::daemon
