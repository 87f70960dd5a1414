#include "daemon/exchange/engine.h"

#include <algorithm>

#include "base/log.h"
#include "daemon/control/controller_link.h"
#include "daemon/exchange/digest.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// How often exchanges among nodes are looked at for progress, while there are any.
constexpr base::Duration kWatchInterval = std::chrono::milliseconds(50);
// A job without workers on this node is forgotten after this; longer than any exchange of it can last.
constexpr base::Duration kUnusedKeep = std::chrono::seconds(30);

}  // namespace

Engine::Engine(Services& services)
    : services_(services),
      gpu_groups_(services.loop, services.options.nccl_communicators),
      questions_(services.loop),
      links_(services) {
    services_.gpu_groups = &gpu_groups_;
    services_.exchange_began = [this] {
        if (watching_) return;
        watching_ = true;
        services_.loop.run_after(kWatchInterval, [this] { watch(); });
    };
}

Engine::~Engine() = default;

// ------------------------------------------------------------------------------- what sessions ask

uint64_t Engine::ask(uint64_t ticket, Questions::Question question) {
    questions_.ask(ticket, std::move(question));
    return ticket;
}

void Engine::forget(uint64_t ticket) {
    Questions::Question question;
    // An acceptance that is under way gives the place back (on_join_accepted finds no asker).
    questions_.take(ticket, question);
}

uint64_t Engine::join(const JoinRequest& request, WorkerPort* port, const Joined& joined) {
    const uint64_t ticket = questions_.new_ticket();
    Questions::Question question;
    if (const auto fits = ShardDisk::check(services_, request.options, request.uid); !fits) {
        question.refused = [joined](const base::Error& error) { joined(error); };
        question.send = [] { return true; };
        ask(ticket, std::move(question));
        services_.loop.defer([this, ticket, error = fits.error()] {
            on_join_refused({.request = ticket, .error = error});
        });
        return ticket;
    }
    question.send = [this, ticket, request] {
        control::WorkerJoin message;
        message.request = ticket;
        message.rank = request.rank;
        message.options = request.options;
        message.uid = request.uid;
        message.iteration = orphanage_.iteration({request.options.name, request.rank});
        return services_.control->send(message);
    };
    question.accepted = [this, request, port, joined](const control::JoinAccepted& accepted) {
        seat(request, port, accepted, joined);
    };
    question.refused = [joined](const base::Error& error) { joined(error); };
    return ask(ticket, std::move(question));
}

void Engine::seat(const JoinRequest& request, WorkerPort* port,
                  const control::JoinAccepted& accepted, const Joined& joined) {
    const std::shared_ptr<Job> job = job_of(accepted, request.uid);
    if (!accepted.under_way) job->begin_anew();
    auto worker = std::make_shared<Worker>();
    worker->rank = accepted.rank;
    worker->uid = request.uid;
    worker->port = port;
    worker->newcomer = accepted.under_way;
    worker->iteration = orphanage_.iteration({request.options.name, request.rank});
    job->add(worker);
    joined(Seat{job, worker, accepted.under_way});
}

uint64_t Engine::create_job(const control::JobOptions& options, uint32_t uid,
                            const Answered& answered) {
    const uint64_t ticket = questions_.new_ticket();
    Questions::Question question;
    question.send = [this, ticket, options, uid] {
        control::JobCreate message;
        message.request = ticket;
        message.options = options;
        message.uid = uid;
        return services_.control->send(message);
    };
    question.accepted = [answered](const control::JoinAccepted&) { answered(std::string()); };
    question.refused = [answered](const base::Error& error) { answered(error); };
    return ask(ticket, std::move(question));
}

uint64_t Engine::status(const Answered& answered) {
    const uint64_t ticket = questions_.new_ticket();
    Questions::Question question;
    question.send = [this, ticket] {
        return services_.control->send(control::StatusRequest{ticket});
    };
    question.document = answered;
    question.refused = [answered](const base::Error& error) { answered(error); };
    return ask(ticket, std::move(question));
}

void Engine::submit(const Seat& seat, Request request) {
    if (auto fits = seat.job->check_verb(request.verb); !fits) {
        seat.worker->port->request_ended(request.id, failed(fits.error()));
        return;
    }
    request.digest = digest_of(request.buffers, request.order);
    request.submitted_ns = base::now_ns();
    seat.job->submit(seat.worker, std::move(request));
}

void Engine::note(const Seat& seat, const protocol::SubmissionEntry& entry) {
    switch (entry.verb) {
        case protocol::Verb::announce:
            return seat.job->announce(seat.worker, entry.iteration);
        case protocol::Verb::take_back:
            return seat.job->take_back(seat.worker);
        case protocol::Verb::ready:
            return seat.job->ready(seat.worker, entry.id, entry.iteration);
        default:
            return;
    }
}

void Engine::cancel(const Seat& seat, uint64_t id) {
    seat.job->cancel(seat.worker, id);
}

uint64_t Engine::leave(const Seat& seat, const std::function<void()>& left) {
    orphanage_.drop({seat.job->state().options.name, seat.worker->rank});
    remove(seat);
    const uint64_t ticket = questions_.new_ticket();
    Questions::Question question;
    question.send = [this, ticket, job = seat.job, rank = seat.worker->rank] {
        return tell_leave(*job, rank, true, ticket);
    };
    question.done = left;
    question.refused = [left](const base::Error& /*error*/) { left(); };
    if (!questions_.ask(ticket, question)) {
        services_.loop.defer([this, ticket] { on_worker_left({ticket}); });
    }
    tell_owing(*seat.job);
    return ticket;
}

void Engine::bury(const Seat& seat, std::vector<BufferPtr> buffers) {
    orphanage_.keep({seat.job->state().options.name, seat.worker->rank}, std::move(buffers),
                    seat.worker->iteration);
    remove(seat);
    tell_leave(*seat.job, seat.worker->rank, false);
    tell_owing(*seat.job);
}

void Engine::remove(const Seat& seat) {
    seat.job->remove(seat.worker);
    if (seat.job->unused()) drop_unused_later();
}

BufferPtr Engine::inherit(const Seat& seat, protocol::DType dtype, uint64_t count,
                          const device::Device* device) {
    return orphanage_.take({seat.job->state().options.name, seat.worker->rank}, dtype, count,
                           device);
}

bool Engine::tell_leave(const Job& job, control::Rank rank, bool orderly, uint64_t request) {
    control::WorkerLeave message;
    message.job = job.state().id;
    message.rank = rank;
    message.orderly = orderly;
    message.request = request;
    return services_.control->send(message);
}

// No worker here tells the controller of this node any more, or of the shards that it keeps. Said at every heartbeat: a controller that was
// restarted may learn of the job only later.
void Engine::tell_owing(const Job& job) {
    if (job.keeps_shards() || (job.unused() && job.owes())) tell_leave(job, control::kNoRank, true);
}

void Engine::drop_unused_later() {
    services_.loop.run_after(kUnusedKeep, [this] {
        const auto is_over = [](const auto& entry) {
            return entry.second->unused() && !entry.second->keeps_shards();
        };
        std::erase_if(by_id_, is_over);
        std::erase_if(jobs_, is_over);
        if (jobs_.empty()) gpu_groups_.rest();
        orphanage_.drop_expired();
    });
}

// ------------------------------------------------------------------------- what the controller says

std::shared_ptr<Job> Engine::job(control::JobId id) const {
    const auto entry = by_id_.find(id);
    return entry == by_id_.end() ? nullptr : entry->second;
}

std::shared_ptr<Job> Engine::job_of(const control::JoinAccepted& accepted, uint32_t uid) {
    std::shared_ptr<Job>& job = jobs_[accepted.options.name];
    if (job && job->unused() && job->state().id != accepted.job)
        job.reset();  // another job of that name
    if (!job) job = std::make_shared<Job>(services_, accepted.options, uid);
    std::erase_if(by_id_, [&](const auto& entry) { return entry.second == job; });
    job->state().id = accepted.job;
    job->state().token = accepted.token;
    by_id_[accepted.job] = job;
    return job;
}

void Engine::on_attached(control::NodeId self) {
    base::log_info("attached to the controller", {{"node", self}});
    questions_.set_refusal({});
    if (services_.self != 0 && services_.self != self) {
        const auto error =
            base::make_error(ErrorKind::aborted, "the controller has renumbered this node");
        for (const auto& [name, job] : jobs_) job->invalidate(error);
        services_.peers.forget_all();
        links_.forget_all();
    }
    services_.self = self;
    links_.attached();
    for (const auto& [name, job] : jobs_) {
        for (const auto& [rank, worker] : job->state().workers) announce(job, worker);
        tell_owing(*job);
    }
    questions_.send_all_again();
}

void Engine::announce(const std::shared_ptr<Job>& job, const WorkerPtr& worker) {
    const uint64_t ticket = questions_.new_ticket();
    worker->resuming = true;
    Questions::Question question;
    // Not sent again as a question: every attachment announces everything anew.
    question.send = [] { return true; };
    question.accepted = [this, worker](const control::JoinAccepted& accepted) {
        const std::shared_ptr<Job> resumed = job_of(accepted, worker->uid);
        if (worker->port != nullptr) resumed->resumed(worker, accepted.under_way);
    };
    question.refused = [job, worker](const base::Error& error) {
        if (error.kind == ErrorKind::no_controller)
            return;  // the next attachment announces it again
        base::log_warning("worker lost its place", {{"job", job->state().options.name},
                                                    {"rank", worker->rank},
                                                    {"reason", error.message}});
        worker->resuming = false;
        job->refuse(worker, error);
    };
    ask(ticket, std::move(question));
    control::WorkerJoin message = job->announcement(*worker);
    message.request = ticket;
    services_.control->send(message);
}

void Engine::on_detached(bool excluded, const std::string& reason) {
    base::log_warning(excluded ? "excluded by the controller" : "lost the controller",
                      {{"reason", reason}});
    if (!excluded) return;
    const auto error =
        base::make_error(ErrorKind::aborted, "the cluster excluded this node: {}", reason);
    for (const auto& [name, job] : jobs_) job->invalidate(error);
    services_.peers.forget_all();
    links_.forget_all();
}

void Engine::on_refused(const base::Error& error) {
    questions_.set_refusal(error);
    base::log_error("the controller refuses this daemon", {{"reason", error.message}});
}

void Engine::report(control::Heartbeat& ret_heartbeat) {
    for (const auto& [name, job] : jobs_) {
        job->report(ret_heartbeat);
        tell_owing(*job);
        if (!job->state().wants_view) continue;
        services_.control->send(control::Stalled{job->state().id, {}});
    }
    links_.report(ret_heartbeat.links);
}

void Engine::on_join_accepted(const control::JoinAccepted& accepted) {
    Questions::Question question;
    if (questions_.take(accepted.request, question)) {
        question.accepted(accepted);
        return;
    }
    if (accepted.rank == control::kNoRank) return;
    // Whoever asked is gone; unless the rank is held by another session meanwhile, the place is given back.
    const std::shared_ptr<Job> known = job(accepted.job);
    if (known && known->state().find(accepted.rank)) return;
    control::WorkerLeave message;
    message.job = accepted.job;
    message.rank = accepted.rank;
    message.orderly = true;
    services_.control->send(message);
}

void Engine::on_join_refused(const control::JoinRefused& refused) {
    Questions::Question question;
    if (questions_.take(refused.request, question)) question.refused(refused.error);
}

void Engine::on_prepare_view(const control::PrepareView& view) {
    if (const auto found = job(view.job)) {
        found->prepare(view);
        return;
    }
    // A job that has no worker here any more has nothing to stop.
    services_.control->send(control::ViewPrepared{.job = view.job, .epoch = view.epoch});
}

void Engine::on_commit_view(const control::CommitView& view) {
    const auto found = job(view.job);
    if (!found || view.epoch <= found->state().view.epoch) return;
    found->commit(view);
    const JobState& state = found->state();
    links_.commit({state.id, state.token, state.view.epoch, state.view.nodes()});
}

void Engine::on_group_order(const control::GroupOrder& order) {
    if (const auto found = job(order.job)) {
        found->order(order);
        return;
    }
    services_.control->send(
        control::GroupDone{.job = order.job, .group = order.group, .failed = true});
}

void Engine::on_group_abort(const control::GroupAbort& abort) {
    if (const auto found = job(abort.job))
        found->abort_group(abort.group, base::make_error(ErrorKind::aborted, "{}", abort.reason));
}

void Engine::on_worker_suspended(const control::WorkerSuspended& suspended) {
    const auto found = job(suspended.job);
    if (!found) return;
    base::log_warning("worker suspended", {{"job", found->state().options.name},
                                           {"rank", suspended.rank},
                                           {"reason", suspended.reason}});
    found->suspend(suspended.rank, suspended.reason);
}

void Engine::on_worker_left(const control::WorkerLeft& left) {
    Questions::Question question;
    if (questions_.take(left.request, question)) question.done();
}

void Engine::on_withdrawn(const control::Withdrawn& withdrawn) {
    if (const auto found = job(withdrawn.job)) found->withdrawn(withdrawn.rank);
}

void Engine::on_node_known(const control::NodeKnown& known) {
    if (known.node != services_.self) services_.peers.know(known.node, known.name, known.address);
}

void Engine::on_node_gone(const control::NodeGone& gone) {
    base::log_warning("peer is gone",
                      {{"peer", services_.peers.name(gone.node)}, {"reason", gone.reason}});
    const auto peer = services_.peers.peer(gone.node);
    const auto error = base::make_error(ErrorKind::unavailable, "{} is gone: {}",
                                        services_.peers.name(gone.node), gone.reason);
    services_.peers.forget(gone.node);
    links_.forget(gone.node);
    gpu_groups_.forget(gone.node);
    if (!peer) return;
    for (const auto& weak : std::vector(services_.active)) {
        if (const auto exchange = weak.lock()) exchange->peer_lost(*peer, error);
    }
}

void Engine::on_status_reply(const control::StatusReply& reply) {
    Questions::Question question;
    if (questions_.take(reply.request, question)) question.document(reply.json);
}

}  // namespace pace::daemon
