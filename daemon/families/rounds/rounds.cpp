#include "daemon/families/rounds/rounds.h"

#include <algorithm>
#include <utility>

#include "daemon/control/controller.h"
#include "daemon/families/rounds/round_plan.h"

namespace pace::daemon {

using base::ErrorKind;
using protocol::Verb;

Rounds::Rounds(JobState& job)
    : job_(job),
      sequence_(job.view),
      result_(job, sequence_),
      compression_(job, *this),
      partial_(protocol::is_partial(job.options)
                   ? std::make_unique<PartialDelivery>(job, sequence_, result_,
                                                       static_cast<RoundPort&>(*this))
                   : nullptr),
      full_(job, sequence_, result_, compression_, partial_.get(), *this),
      missed_(job, sequence_, result_, partial_ ? &partial_->rounds() : nullptr, *this) {}

// ------------------------------------------------------------------------------- calls and workers

void Rounds::called(const WorkerPtr& worker) {
    worker->state = Worker::State::waiting;
    const bool brings = partial_ && worker->head().verb == Verb::reduce;
    if (brings && partial_->rounds().has(worker->rank) && !partial_->take_call(worker)) return;
    try_start();
}

bool Rounds::withdraw(const Worker& worker) {
    return !partial_ || partial_->rounds().withdraw(worker);
}

bool Rounds::suspend(const Worker& worker) {
    // The worker's gradients are forgotten with the worker: one that a failed round had taken, and
    // one that no round has yet. A call of another verb is in no round while it waits.
    const bool has_given = worker.state == Worker::State::waiting &&
                           worker.head().verb == Verb::reduce && !withdraw(worker);
    const bool goes_on = has_given && is_exchanging() && !partial_->rounds().stores(worker.rank);
    departed(worker);
    return goes_on;
}

void Rounds::departed(const Worker& worker) {
    if (partial_) partial_->rounds().leave(worker.rank);
}

void Rounds::left(const Worker& worker) {
    departed(worker);
    compression_.residuals().departed(worker);
    if (!is_busy()) compression_.residuals().exchange_ended();
}

void Rounds::run_local(const WorkerPtr& worker, const Residuals::Done& done) {
    if (worker->head().verb == Verb::residual_save)
        compression_.residuals().save(worker, done);
    else
        compression_.residuals().load(worker, done);
}

std::optional<uint64_t> Rounds::model_round(const Worker& worker) const {
    // A node that fetches a result first learns what the result hides. Until then its workers'
    // models are of the round before.
    if (sequence_.waits()) return std::nullopt;
    return partial_ ? partial_->model_round(worker) : sequence_.completed();
}

// ----------------------------------------------------------------------------- from round to round

void Rounds::try_start() {
    if (is_busy() || !sequence_.may_begin()) return;
    look_for_roots();
    if (partial_ && !sequence_.is_for_everyone()) {
        partial_->open();
    } else {
        full_.try_begin();
    }
}

// A broadcast whose root is no member of the view cannot begin. Before there is a model, it waits a
// while for the root to come back. Then it ends, and no round is counted: other nodes may see the
// call in a view that has the root, and a root that comes back would be taken for a worker that
// lacks that round.
void Rounds::look_for_roots() {
    std::vector<WorkerPtr> rootless;
    base::Duration next{};
    for (const auto& [rank, worker] : job_.workers) {
        const bool waits = worker->state == Worker::State::waiting && !worker->newcomer;
        if (!waits || !job_.lacks_root(worker->head())) continue;
        const base::Duration left = JobState::left_for_root(worker->head());
        if (sequence_.completed() != 0 || left <= base::Duration{}) {
            rootless.push_back(worker);
        } else {
            next = next == base::Duration{} ? left : std::min(next, left);
        }
    }
    root_timer_ = {};
    if (next > base::Duration{})
        root_timer_ = job_.services.loop.run_after(next, [this] { try_start(); });
    for (const WorkerPtr& worker : rootless)
        job_.end_head(worker, failed(base::make_error(
                                  ErrorKind::invalid,
                                  "root {} is not a member of the job now: its worker has left or "
                                  "died, or is not back yet; call again once it is back, or name "
                                  "a root that is a member",
                                  worker->head().root)));
}

void Rounds::go_on() {
    if (stopped()) {
        answer_prepare();
    } else if (partial_) {
        try_start();
    }
}

void Rounds::wait_for_view() {
    if (sequence_.wait_for_view()) job_.wants_view = true;
}

void Rounds::stop(const base::Error& error) {
    if (exchange()) exchange()->abort(error);
}

std::string Rounds::awaited(const Worker& caller) const {
    if (stopped()) return "the job's membership to have changed";
    if (caller.state == Worker::State::waiting && job_.lacks_root(caller.head()))
        return JobState::root_to_come(caller.head());
    if (job_.view.epoch != 0 && sequence_.waits())
        return "another view of the job, since a round has failed in this one (the log says why)";
    std::vector<control::Rank> missing;
    for (const control::Member& member : job_.view.members) {
        const WorkerPtr worker =
            member.node == job_.services.self ? job_.find(member.rank) : nullptr;
        const bool has_called = !worker || worker->state == Worker::State::waiting ||
                                worker->state == Worker::State::moving;
        if (!has_called) missing.push_back(worker->rank);
    }
    if (!missing.empty()) return JobState::not_called(missing);
    if (!sequence_.is_for_everyone() && is_partial_under_way()) return partial_->rounds().awaited();
    if (!exchange()) return "this node to go on with its round";
    const std::vector<NodeId> nodes = exchange()->waiting_for();
    return nodes.empty() ? exchange()->what() + " to end"
                         : fmt::format("{}, in {}", job_.workers_at(nodes), exchange()->what());
}

// ----------------------------------------------------------------------------- from view to view

void Rounds::prepare(uint64_t epoch) {
    if (!sequence_.prepare(epoch)) return;
    const auto error = base::make_error(ErrorKind::aborted, "the job's membership is changing");
    result_.stop_giving(error);
    missed_.stop(error);
    if (is_partial_under_way()) {
        partial_->rounds().abort(error);
    } else if (!is_busy()) {
        answer_prepare();
    } else {
        // On one node alone nothing can hold a round up: the round commits, then the answer is
        // sent.
        stop(error);
    }
}

void Rounds::answer_prepare() {
    job_.port->before_server_report([this, epoch = preparing()] {
        if (preparing() == epoch) send_prepared();
    });
}

void Rounds::send_prepared() {
    end_suspended();
    control::ViewPrepared prepared;
    prepared.job = job_.id;
    prepared.epoch = preparing();
    prepared.completed = completed();
    prepared.round_epoch = sequence_.round_view().epoch;
    prepared.result_epoch = result_.epoch();
    for (const auto& [rank, worker] : job_.workers)
        if (!worker->can_give_model()) prepared.without_model.push_back(rank);
    prepared.server = job_.port->server_report();
    job_.services.control.send(prepared);
}

// No round has the requests of workers that were suspended in the midst of one any more, and the
// next view goes without these workers.
void Rounds::end_suspended() {
    std::vector<WorkerPtr> suspended;
    for (const auto& [rank, worker] : job_.workers)
        if (worker->state == Worker::State::waiting && worker->suspended)
            suspended.push_back(worker);
    for (const WorkerPtr& worker : suspended) full_.wait_again(worker);
}

// Drops messages for this node that belong to the old view: those that have come, and those that
// still come.
void Rounds::leave_view() {
    const uint64_t epoch = sequence_.leave_view();
    if (epoch == 0) return;
    for (const uint64_t number : numbers_left(job_, epoch, completed()))
        job_.services.transport.close_exchange(number);
}

void Rounds::commit(const control::CommitView& view) {
    leave_view();
    compression_.residuals().commit_view(view.leavers);
    const NodeId self = job_.services.self;
    if (view.donor == self)
        for (const NodeId node : view.behind)
            if (node != self) result_.serve(node);
    if (sequence_.commit(view, self)) return missed_.fetch(view.donor, full_.layout());
    if (partial_) partial_->rounds().put_back();
    compression_.residuals().discard();
    compression_.residuals().exchange_ended();
    full_.forget_calls();
    try_start();
}

void Rounds::invalidate(const base::Error& error) {
    sequence_.invalidate();
    result_.drop();
    result_.stop_giving(error);
    compression_.residuals().invalidate(error);
    if (partial_) partial_->rounds().reset(error);
    stop(error);
    leave_view();
}

}  // namespace pace::daemon
