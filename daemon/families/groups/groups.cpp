#include "daemon/families/groups/groups.h"

namespace pace::daemon {

void Groups::left(Worker& worker) {
    static_.left(worker);
    running_.left(worker);
    ordered_.left(worker);
}

void Groups::withdraw(Worker& worker) {
    if (are_static() || worker.lagging)
        withdrawn(worker.rank);
    else
        ordered_.withdraw(worker);
}

void Groups::withdrawn(control::Rank rank) {
    const WorkerPtr worker = job_.find(rank);
    if (worker && worker->state == Worker::State::ready)
        job_.end_head(worker,
                      ended_as(protocol::Outcome::canceled, "canceled before a group had formed"));
}

void Groups::progressed(const WorkerPtr& worker) {
    if (!worker->lagging) {
        running_.progressed(*worker);
    } else if (worker->head().is_made()) {
        worker->lagging = false;
        if (worker->state == Worker::State::ready) source().caught_up(*worker);
    }
}

void Groups::abort_all(const base::Error& error) {
    ordered_.drop_held();
    running_.abort_all(error);
}

void Groups::invalidate(const base::Error& error) {
    static_.pause();
    abort_all(error);
    static_.leave_view();
}

void Groups::prepare(const base::Error& error) {
    if (are_static()) invalidate(error);
}

void Groups::commit_view() {
    if (are_static()) static_.begin_view();
}

void Groups::attached_anew() {
    if (!are_static()) earlier_.watch(running_.exchanges());  // nobody orders static groups
}

std::string Groups::awaited(const Worker& worker) const {
    if (worker.lagging) return "its own buffers to be made ready (pace_request_ready)";
    if (worker.state == Worker::State::ready) return source().awaited(worker);
    const auto exchange = worker.exchange.lock();
    if (!exchange) return "its group's exchange to end";
    const std::vector<NodeId> nodes = exchange->waiting_for();
    if (nodes.empty()) return exchange->plan().what + " to end";
    return fmt::format("{}, in {}", job_.workers_at(nodes), exchange->plan().what);
}

}  // namespace pace::daemon
