#include "daemon/families/groups/ready_signals.h"

#include "daemon/control/controller.h"

namespace pace::daemon {

namespace {

// A group that failed because of a cut connection is not tried again before.
constexpr base::Duration kCutPause = std::chrono::milliseconds(300);

}  // namespace

void ReadySignals::send(Worker& worker, control::ReadyStage stage) {
    if (worker.lagging) return;
    const Request& head = worker.head();
    job_.services.control.send(
        control::Ready{job_.id, worker.rank, head.iteration, head.digest, stage});
    if (worker.withdrawing) withdraw(worker);
}

void ReadySignals::send_later(const WorkerPtr& worker) {
    pauses_[worker->rank] =
        job_.services.loop.run_after(kCutPause, [this, weak = std::weak_ptr(worker)] {
            const WorkerPtr waiting = weak.lock();
            if (!waiting || waiting->port == nullptr) return;
            if (waiting->state == Worker::State::ready) send(*waiting, control::ReadyStage::called);
        });
}

void ReadySignals::withdraw(Worker& worker) {
    worker.withdrawing = true;
    job_.services.control.send(control::Withdraw{.job = job_.id, .rank = worker.rank});
}

void ReadySignals::announce(const Worker& worker) {
    job_.services.control.send(control::Ready{job_.id, worker.rank, worker.announced->iteration,
                                              worker.announced->digest,
                                              control::ReadyStage::announced});
}

void ReadySignals::take_back(const Worker& worker) {
    job_.services.control.send(
        control::Withdraw{.job = job_.id, .rank = worker.rank, .unanswered = true});
}

}  // namespace pace::daemon
