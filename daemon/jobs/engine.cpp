#include "daemon/jobs/engine.h"

#include <algorithm>

#include "base/log/daemon_events.h"
#include "base/log/log.h"
#include "base/log/training_events.h"
#include "daemon/control/controller.h"
#include "daemon/jobs/records.h"
#include "daemon/members/digest.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// For people, and to tell which of two runs was the later one.
uint64_t since_1970_ns() {
    return static_cast<uint64_t>(base::since_1970().count());
}

// With unknown options, this daemon would silently train in another way than was asked.
base::Error unknown_options(const base::Error& because) {
    return base::make_error(base::ErrorKind::version,
                            "the controller takes options that this node's daemon does not know: "
                            "{}; install the controller's release of Pace on this node",
                            because.message);
}

}  // namespace

Engine::Engine(Services& services)
    : services_(services),
      jobs_(services),
      questions_(services.loop, [this] { return services_.control.problem(); }),
      retained_(services.options.buffers_keep),
      links_(services),
      peer_watch_(services,
                  {.cut = [this](NodeId node, bool cut,
                                 base::Duration silent) { tell_cut(node, cut, silent); },
                   .lost = [this](NodeId node, const std::string& why) { tell_lost(node, why); }}),
      progress_watch_(services, peer_watch_),
      machine_(services.gpus) {}

Engine::~Engine() = default;

// ------------------------------------------------------------------------------- what sessions ask

uint64_t Engine::ask(uint64_t ticket, Questions::Question question) {
    questions_.ask(ticket, std::move(question));
    return ticket;
}

void Engine::forget(uint64_t ticket) {
    Questions::Question question;
    // If an acceptance is under way, the place is given back (JoinAccepted finds no asker).
    questions_.take(ticket, question);
}

uint64_t Engine::join(const JoinRequest& request, WorkerPort* port, const Joined& joined) {
    const uint64_t ticket = questions_.new_ticket();
    const auto send = [this, ticket, request] {
        control::WorkerJoin message;
        message.request = ticket;
        message.rank = request.rank;
        message.options = request.options;
        message.uid = request.uid;
        message.iteration = reached(request, 0);
        message.rounds_completed = request.rounds_untrusted;
        message.run = request.run;
        message.opened = since_1970_ns();
        message.rerun = request.rerun;
        return services_.control.send(message);
    };
    const auto checked = std::make_shared<bool>(false);
    Questions::Question question;
    question.send = [send, checked] { return !*checked || send(); };
    question.accepted = [this, request, port, joined](const control::JoinAccepted& accepted,
                                                      const control::JobOptions& options) {
        seat(request, port, accepted, options, joined);
    };
    question.refused = [joined, checked](const base::Error& error) {
        joined(*checked ? error
                        : base::make_error(ErrorKind::disk,
                                           "the disk with this daemon's checkpoints does not "
                                           "answer; look at the folder that its `checkpoints` "
                                           "setting names"));
    };
    ask(ticket, std::move(question));
    check_job(request.options, request.uid, [this, ticket, send, checked](const Result<>& fits) {
        *checked = true;
        if (fits && questions_.asks(ticket)) send();
        if (fits) return;
        services_.loop.defer(scope_.callback([this, ticket, error = fits.error()] {
            on(control::JoinRefused{.request = ticket, .error = error});
        }));
    });
    return ticket;
}

void Engine::seat(const JoinRequest& request, WorkerPort* port,
                  const control::JoinAccepted& accepted, const control::JobOptions& options,
                  const Joined& joined) {
    const std::shared_ptr<Job> job = jobs_.take_up(accepted, options, request.uid);
    if (!accepted.under_way) job->begin_anew();
    auto worker = std::make_shared<Worker>();
    worker->rank = accepted.rank;
    worker->uid = request.uid;
    worker->port = port;
    worker->is_new = request.run.began == 0;
    worker->newcomer = accepted.under_way;
    worker->iteration = reached(
        request, retained_.iteration({request.uid, accepted.token, accepted.rank}, base::now()));
    job->add(worker);
    record({.kind = RecordKind::worker_joined}, {job, worker});
    if (request.again) job->came_again(*worker, request.rounds_untrusted);
    tell_waits_later();
    joined(Seat{job, worker, accepted.under_way, accepted.deserted});
}

void Engine::submit(const Seat& seat, Request request) {
    // The trainer has made its buffers: it does not want those of its predecessor that it did not
    // take.
    if (std::exchange(seat.worker->may_inherit, false)) retained_.drop(key_of(seat));
    if (auto fits = seat.job->check_verb(request.verb); !fits) {
        seat.worker->port->request_ended(request.id, failed(fits.error()));
        return;
    }
    request.digest = digest_of(request.buffers, request.order);
    request.submitted_ns = base::now_ns();
    record({.kind = RecordKind::call_begins,
            .detail = static_cast<uint8_t>(request.verb),
            .number = request.id,
            .amount = request.elements},
           seat);
    seat.job->submit(seat.worker, std::move(request));
}

void Engine::note(const Seat& seat, const Note& note) {
    switch (note.verb) {
        case protocol::Verb::announce:
            return seat.job->announce(seat.worker, note.number);
        case protocol::Verb::take_back:
            return seat.job->take_back(seat.worker);
        case protocol::Verb::ready:
            return seat.job->ready(seat.worker, note.request, note.number);
        default:
            return;
    }
}

void Engine::cancel(const Seat& seat, uint64_t id) {
    seat.job->cancel(seat.worker, id);
}

uint64_t Engine::leave(const Seat& seat, const std::function<void()>& left) {
    retained_.drop(key_of(seat));
    record({.kind = RecordKind::worker_left}, seat);
    remove(seat);
    const uint64_t ticket = questions_.new_ticket();
    Questions::Question question;
    question.send = [this, ticket, job = seat.job, rank = seat.worker->rank] {
        return tell_leave(*job, rank, true, ticket);
    };
    question.done = left;
    question.refused = [left](const base::Error& /*error*/) { left(); };
    if (!questions_.ask(ticket, question)) {
        services_.loop.defer(scope_.callback([this, ticket] { on(control::WorkerLeft{ticket}); }));
    }
    tell_kept(*seat.job);
    return ticket;
}

void Engine::remove(const Seat& seat) {
    seat.job->remove(seat.worker);
    if (seat.job->unused()) jobs_.drop_unused_later();
}

void Engine::record(Record record, const Seat& seat) const {
    record.job = seat.job->state().id;
    record.rank = seat.worker->rank;
    services_.recorder->note(record);
}

bool Engine::tell_leave(const Job& job, control::Rank rank, bool orderly, uint64_t request) {
    control::WorkerLeave message;
    message.job = job.state().id;
    message.rank = rank;
    message.orderly = orderly;
    message.request = request;
    return services_.control.send(message);
}

// ------------------------------------------------------------------------ what the controller says

void Engine::on_attached(control::NodeId self) {
    base::log_event(base::events::kControllerAttached, {{"number", self}});
    services_.recorder->note({.kind = RecordKind::attached, .number = self});
    if (services_.self != 0 && services_.self != self) {
        const auto error =
            base::make_error(ErrorKind::aborted, "the controller has renumbered this node");
        for (const auto& [name, job] : jobs_.all()) job->invalidate(error);
        services_.peers.forget_all();
        links_.forget_all();
        peer_watch_.forget_all();
    }
    services_.self = self;
    services_.peers.expect_names();
    naming_timer_ = services_.loop.run_after(services_.options.unnamed_keep,
                                             [this] { forget_unnamed_peers(); });
    links_.attached();
    peer_watch_.attached();
    for (const auto& [name, job] : jobs_.all()) {
        for (const auto& [rank, worker] : job->state().workers) announce(job, worker);
        job->attached_anew();
        tell_kept(*job);
    }
    tell_retained();
    questions_.send_all_again();
}

void Engine::announce(const std::shared_ptr<Job>& job, const WorkerPtr& worker) {
    const uint64_t ticket = questions_.new_ticket();
    worker->resuming = true;
    Questions::Question question;
    // The question is not sent again: every attachment announces everything anew.
    question.send = [] { return true; };
    question.accepted = [this, worker](const control::JoinAccepted& accepted,
                                       const control::JobOptions& options) {
        const std::shared_ptr<Job> resumed = jobs_.take_up(accepted, options, worker->uid, true);
        if (worker->port != nullptr) resumed->resumed(worker, accepted.under_way);
    };
    question.refused = [job, worker](const base::Error& error) {
        if (error.kind == ErrorKind::no_controller)
            return;  // the next attachment announces the worker again
        base::log_event(base::events::kWorkerLostPlace, {{"job", job->state().options.name},
                                                         {"rank", worker->rank},
                                                         {"reason", error.message}});
        worker->resuming = false;
        job->refuse(worker, error);
    };
    ask(ticket, std::move(question));
    control::WorkerJoin message = job->announcement(*worker);
    message.request = ticket;
    services_.control.send(message);
}

void Engine::on_detached(bool excluded, const std::string& reason) {
    base::log_event(excluded ? base::events::kExcluded : base::events::kControllerLost,
                    {{"reason", reason}});
    services_.recorder->note({.kind = excluded ? RecordKind::excluded : RecordKind::detached});
    naming_timer_.cancel();
    if (!excluded) return;
    services_.recordings->keep("excluded");
    const auto error =
        base::make_error(ErrorKind::aborted, "the cluster excluded this node: {}", reason);
    for (const auto& [name, job] : jobs_.all()) job->invalidate(error);
    services_.peers.forget_all();
    links_.forget_all();
    peer_watch_.forget_all();
}

void Engine::on_refused(const base::Error& error) {
    base::log_event(base::events::kControllerRefuses, {{"reason", error.message}});
}

void Engine::report(control::Heartbeat& ret_heartbeat) {
    for (const auto& [name, job] : jobs_.all()) {
        job->report(ret_heartbeat);
        for (const NodeId node : job->look_again()) peer_watch_.suspect(node);
        tell_kept(*job);
        if (!job->state().wants_view) continue;
        services_.control.send(control::Stalled{job->state().id, {}});
    }
    links_.report(ret_heartbeat.links);
    ret_heartbeat.machine = machine_.report(base::now());
}

void Engine::on(const control::JoinAccepted& accepted) {
    Questions::Question question;
    if (questions_.take(accepted.request, question)) {
        if (const auto options = protocol::read_options(accepted.options))
            return question.accepted(accepted, *options);
        else
            question.refused(unknown_options(options.error()));
    }
    if (accepted.rank == control::kNoRank) return;
    // The asker is gone, or refused. The place is given back, unless another session holds the rank
    // by now.
    const std::shared_ptr<Job> known = jobs_.find(accepted.job);
    if (known && known->state().find(accepted.rank)) return;
    control::WorkerLeave message;
    message.job = accepted.job;
    message.rank = accepted.rank;
    message.orderly = true;
    services_.control.send(message);
}

void Engine::on(const control::JoinRefused& refused) {
    Questions::Question question;
    if (questions_.take(refused.request, question)) question.refused(refused.error);
}

void Engine::on(const control::PrepareView& view) {
    record_order(*services_.recorder, view);
    if (jobs_.with(view.job, [&view](Job& found) { found.prepare(view); })) return;
    // A job without workers here has nothing to stop.
    services_.control.send(control::ViewPrepared{.job = view.job, .epoch = view.epoch});
}

void Engine::on(const control::CommitView& view) {
    record_order(*services_.recorder, view);
    jobs_.with(view.job, [this, &view](Job& found) {
        const JobState& state = found.state();
        if (view.epoch <= state.view.epoch) return;
        found.commit(view);
        links_.commit({state.id, state.token, state.view.epoch, state.view.nodes()});
    });
}

void Engine::on(const control::GroupOrder& order) {
    record_order(*services_.recorder, order);
    if (jobs_.with(order.job, [&order](Job& found) { found.order(order); })) return;
    services_.control.send(control::GroupDone{.job = order.job,
                                              .group = order.group,
                                              .failed = true,
                                              .reason = "the job has no worker here"});
}

void Engine::on(const control::GroupAbort& abort) {
    jobs_.with(abort.job, [&abort](Job& found) {
        found.abort_group(abort.group, base::make_error(ErrorKind::aborted, "{}", abort.reason));
    });
}

void Engine::on(const control::WorkerLeft& left) {
    Questions::Question question;
    if (questions_.take(left.request, question)) question.done();
}

}  // namespace pace::daemon
