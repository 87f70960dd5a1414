#include "daemon/jobs/job.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/control/controller.h"

namespace pace::daemon {

using base::ErrorKind;
using protocol::Outcome;
using protocol::Verb;

namespace {

auto request_of(Worker& worker, uint64_t id) {
    return std::find_if(worker.queue.begin(), worker.queue.end(),
                        [id](const Request& other) { return other.id == id; });
}

// Whether such a call is part of a trainer's step, so that steps can be counted by these calls.
bool is_of_step(Verb verb) {
    return verb != Verb::pull && verb != Verb::checkpoint && !protocol::is_local(verb);
}

// The ending of the worker's first request, if its trainer must first get the current model.
std::optional<Ending> stale_model(Worker& worker) {
    const Verb verb = worker.head().verb;
    // The worker's model may have more rounds, or fewer, than those of the others.
    if (std::exchange(worker.unaware, false) && verb != Verb::broadcast)
        return ended_as(Outcome::stale,
                        "everybody that knew how far the job was is gone, and it has begun anew; "
                        "call pace_broadcast, so that all go on from one model");
    if (worker.suspended && verb != Verb::broadcast && verb != Verb::average)
        return ended_as(Outcome::stale,
                        "this worker was taken out of the job for being late; call pace_broadcast "
                        "for the current model and go on from info.iteration");
    if (verb == Verb::average) worker.lacks_model = false;  // it goes on with its own
    if (worker.lacks_model && verb != Verb::broadcast)
        return ended_as(Outcome::stale,
                        "this worker canceled its call for the current model, which it lacks; call "
                        "pace_broadcast");
    return std::nullopt;
}

}  // namespace

Job::Job(Services& services, control::JobOptions options, uint32_t uid)
    : state_(services, *this, std::move(options), uid),
      rounds_(state_),
      groups_(state_),
      adoptions_(state_),
      vetting_(
          services, state_.options.reject_nonfinite, half_of(state_.options.compression),
          [this](const WorkerPtr& worker, Request request) { take(worker, std::move(request)); },
          [this](const WorkerPtr& worker, const Request& request, Place place) {
              refuse_nonfinite(*worker, request, place);
          }) {
    if (protocol::family_of(state_.options.policy) == control::Family::server)
        serving_ = std::make_unique<Serving>(state_);
}

Job::~Job() {
    state_.scope.end();
    invalidate(base::make_error(ErrorKind::closed, "the job has ended here"));
}

base::Result<> Job::check_verb(Verb verb) const {
    const bool collective = state_.options.policy == control::Policy::all_reduce;
    if (protocol::is_served(verb) != (serving_ != nullptr) &&
        (protocol::is_served(verb) || verb == Verb::average || verb == Verb::reduce))
        return base::make_error(ErrorKind::verb, "job \"{}\" {}", state_.options.name,
                                serving_ ? "has a parameter server: call pace_push and pace_pull"
                                         : "has no parameter server: open it with policy bsp, ssp "
                                           "or asp to call pace_push and pace_pull");
    if (protocol::is_local(verb) && !protocol::is_top_k(state_.options.compression))
        return base::make_error(ErrorKind::verb,
                                "job \"{}\" has no top-k compression, so that its reductions owe "
                                "nothing: open the job with one, or leave out pace_{}",
                                state_.options.name,
                                verb == Verb::residual_save ? "residual_save" : "residual_load");
    if (verb == Verb::average && collective)
        return base::make_error(ErrorKind::verb,
                                "job \"{}\" has policy all-reduce, whose buffers hold gradients: "
                                "call pace_reduce, or open the job with "
                                "policy partial-reduce",
                                state_.options.name);
    if (verb == Verb::reduce && !collective)
        return base::make_error(ErrorKind::verb,
                                "job \"{}\" averages in groups, so that its buffers hold "
                                "parameters: call pace_average, or open the job "
                                "with policy all-reduce",
                                state_.options.name);
    return {};
}

void Job::add(const WorkerPtr& worker) {
    state_.workers[worker->rank] = worker;
    ended_here_ = false;
}

void Job::begin_anew() {
    if (!unused() || state_.view.epoch == 0) return;
    invalidate(base::make_error(ErrorKind::aborted,
                                "the controller knows nothing of the view that this node was in"));
}

// Not if anything besides the exchange looks at the buffers' host twins.
bool Job::sums_on_device(const Worker& worker, const Request& request) const {
    const control::JobOptions& options = state_.options;
    const bool dense =
        request.verb == Verb::average || request.verb == Verb::reduce || request.verb == Verb::sync;
    return dense && !serving_ && !protocol::is_partial(options) && !options.reject_nonfinite &&
           !worker.newcomer;
}

void Job::submit(const WorkerPtr& worker, Request request) {
    request.serial = ++submitted_;
    if (worker->refusal) {
        if (worker->port != nullptr)
            worker->port->request_ended(request.id, failed(*worker->refusal));
        return;
    }
    vetting_.submit(worker, std::move(request));
}

void Job::take(const WorkerPtr& worker, Request request) {
    const base::TimePoint now = base::now();
    if (worker->state == Worker::State::idle && worker->queue.empty()) worker->stop_computing(now);
    if (is_of_step(request.verb))
        worker->times.call(request.iteration, now);
    else
        worker->times.begin_call(now);
    if (request.verb == Verb::push) {
        serving_->push(worker, std::move(request));
        return;
    }
    if (request.verb == Verb::checkpoint) {
        serving_->checkpoint(worker, std::move(request));
        return;
    }
    const bool counts = request.verb != Verb::pull;
    worker->queue.push_back(std::move(request));
    if (counts) ++worker->calls;
    if (worker->state == Worker::State::idle) advance(worker);
}

void Job::refuse_nonfinite(const Worker& worker, const Request& request, Place place) const {
    const Buffer& buffer = *request.buffers[place.buffer];
    if (worker.port == nullptr) return;
    const auto half = half_of(state_.options.compression);
    const bool is_rounded = half && protocol::size_of(buffer.dtype) > protocol::size_of(*half);
    worker.port->request_ended(
        request.id,
        failed(base::make_error(
            ErrorKind::invalid,
            "buffers[{}] ({} x {}) has an infinity or a NaN{} at element {}, which this job "
            "refuses (reject_nonfinite); skip this step's gradient, for instance by setting it to "
            "zero, and call again",
            place.buffer, protocol::name_of(buffer.dtype), buffer.count,
            is_rounded
                ? fmt::format(", or what is one as {} (compression),", protocol::name_of(*half))
                : std::string(),
            place.element)));
}

void Job::advance(const WorkerPtr& worker) {
    if (worker->resuming) return;
    if (worker->refusal) {
        state_.end_head(worker, failed(*worker->refusal));
        return;
    }
    if (!worker->newcomer && worker->head().is_made()) adoptions_.at_boundary(worker);
    const Verb verb = worker->head().verb;
    if (protocol::is_local(verb)) {
        run_local(worker);
        return;
    }
    if (auto stale = stale_model(*worker)) {
        state_.end_head(worker, std::move(*stale));
        return;
    }
    // The controller takes the worker for a member that has the model.
    if (worker->lacks_model && !worker->newcomer) {
        worker->lose_place();
        rounds_.departed(*worker);
    }
    if (verb != Verb::average) groups_.take_back(*worker);
    if (worker->newcomer)
        begin_newcomer(worker);
    else
        begin_member(worker);
}

void Job::begin_member(const WorkerPtr& worker) {
    const Verb verb = worker->head().verb;
    if (verb == Verb::average) {
        groups_.called(worker);
        return;
    }
    if (verb == Verb::pull) {
        serving_->pull(worker);
        return;
    }
    if (verb == Verb::broadcast && serving_ && serving_->awaits_root(*worker)) {
        worker->state = Worker::State::pulling;
        return;
    }
    if (verb == Verb::broadcast && serving_ && serving_->is_rolled_back(worker->rank)) {
        serving_->begin_pull(worker);
        return;
    }
    rounds_.called(worker);
}

void Job::run_local(const WorkerPtr& worker) {
    worker->begin_moving(base::now_ns());
    rounds_.run_local(worker, [this, worker](const base::Result<>& done) {
        Ending ending = done ? Ending{} : failed(done.error());
        ending.iteration = worker->iteration;
        state_.end_head(worker, std::move(ending));
    });
}

void Job::begin_newcomer(const WorkerPtr& worker) {
    const Verb verb = worker->head().verb;
    if (protocol::is_partial(state_.options) && verb != Verb::broadcast && !worker->accepts_own) {
        // The worker's daemon may have died while it computed, and its session have reconnected by
        // itself.
        state_.end_head(worker,
                        ended_as(Outcome::stale,
                                 "the job was under way when this worker joined, so that its model "
                                 "lacks rounds; call pace_broadcast for the current model and go "
                                 "on from info.iteration"));
        return;
    }
    if (serving_ && (verb == Verb::broadcast || verb == Verb::pull)) {
        if (serving_->join(worker)) admit(worker, false);
        return;
    }
    admit(worker, verb == Verb::broadcast);
    if (verb == Verb::average) {
        groups_.called(worker);
    } else {
        worker->state = verb == Verb::broadcast ? Worker::State::adopting : Worker::State::waiting;
    }
}

void Job::admit(const WorkerPtr& worker, bool wants_model) {
    if (worker->admit_sent) return;
    control::WorkerAdmit message;
    message.job = state_.id;
    message.rank = worker->rank;
    message.wants_model = wants_model;
    message.accepts_own = worker->accepts_own;
    worker->admit_sent = state_.services.control.send(message);
}

void Job::ready(const WorkerPtr& worker, uint64_t id, uint64_t elements) {
    const auto request = request_of(*worker, id);
    // A request that has ended needs nothing more.
    if (request == worker->queue.end() || elements <= request->ready) return;
    request->ready = std::min(elements, request->elements);
    if (request != worker->queue.begin()) return;
    // Nothing is written to the buffers before the exchange, if the request is in one, hears of
    // this.
    if (!worker->newcomer && request->is_made()) adoptions_.at_boundary(worker);
    groups_.progressed(worker);
}

void Job::cancel(const WorkerPtr& worker, uint64_t id) {
    const std::string message = "canceled before it had begun";
    if (vetting_.cancel(*worker, id)) {
        Ending ending = ended_as(Outcome::canceled, message);
        ending.iteration = worker->iteration;
        if (worker->port != nullptr) worker->port->request_ended(id, ending);
        return;
    }
    if (serving_ && serving_->cancel(worker, id, message)) return;
    const auto request = request_of(*worker, id);
    if (request == worker->queue.end()) return;
    if (request != worker->queue.begin()) {
        // The request is not under way at all.
        Ending ending = ended_as(Outcome::canceled, message);
        ending.iteration = worker->iteration;
        worker->queue.erase(request);
        if (worker->port != nullptr) worker->port->request_ended(id, ending);
        return;
    }
    if (worker->state == Worker::State::ready) {
        groups_.withdraw(*worker);
        return;
    }
    if (worker->state == Worker::State::pulling && !worker->newcomer) {
        serving_->withdraw(worker);
        return;
    }
    if (worker->state == Worker::State::waiting && rounds_.is_undecided(*worker)) return;
    // Idle: the controller has not taken the worker back yet, so nothing has begun.
    if (worker->state == Worker::State::waiting && !rounds_.withdraw(*worker)) return;
    if (worker->state == Worker::State::adopting) worker->lacks_model = true;
    if (worker->state == Worker::State::waiting || worker->state == Worker::State::adopting ||
        worker->state == Worker::State::idle || worker->state == Worker::State::pulling)
        state_.end_head(worker, ended_as(Outcome::canceled, message));
    rounds_.look_again();
}

void Job::remove(const WorkerPtr& worker) {
    const auto entry = state_.workers.find(worker->rank);
    if (entry != state_.workers.end() && entry->second == worker) state_.workers.erase(entry);
    unused_since_ = base::now();
    worker->port = nullptr;
    vetting_.forget(*worker);
    rounds_.left(*worker);
    groups_.left(*worker);
    if (worker->state == Worker::State::ready && worker->head().is_made() &&
        worker->head().outlives_trainer())
        groups_.departed(worker);
    if (serving_) serving_->left(*worker);
    // An adoption that is under way finds the worker gone.
    if (worker->state == Worker::State::adopting) worker->state = Worker::State::refused;
}

}  // namespace pace::daemon
