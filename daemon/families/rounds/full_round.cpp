#include "daemon/families/rounds/full_round.h"

#include <new>
#include <utility>

#include "base/attempt.h"
#include "base/log/training_events.h"
#include "daemon/families/rounds/round_plan.h"
#include "daemon/members/alike.h"
#include "daemon/members/call_text.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::Verb;

void FullRound::try_begin() {
    const Workers members = job_.local_members();
    if (members.empty()) return;
    for (const WorkerPtr& worker : members) {
        if (worker->state != Worker::State::waiting) return;
    }
    const Request& first = members.front()->head();
    if (const WorkerPtr unlike = first_unlike(members)) {
        fail(members, unlike_calls(*members.front(), *unlike));
        return;
    }
    // Rounds ends such calls.
    if (job_.lacks_root(first)) return;
    if (first.verb == Verb::reduce && !compression_.residuals().is_ready()) return;
    sequence_.begin();
    Exchange::Plan plan = plan_round(job_, sequence_.completed(), members);
    if (first.verb == Verb::reduce) {
        const auto chosen = compression_.choose(plan, members);
        if (!chosen) fail(members, chosen.error());
        if (!chosen || !*chosen) return;
    }
    // Residuals of top-k are in the members' own scale.
    if (is_mean(first) && !plan.top_k) plan.make_room(job_.view.roster().largest_node());
    calls_.clear();
    for (const WorkerPtr& worker : members) calls_[worker->rank] = worker->head().serial;
    layout_ = plan.layout;
    check_ = plan.check;
    dense_ = plan.dense_instead;
    traffic_ = {};
    run(std::move(plan), members);
}

bool FullRound::is_undecided(const Worker& worker) const {
    const auto call = calls_.find(worker.rank);
    return sequence_.round_view().nodes().size() > 1 && call != calls_.end() &&
           call->second == worker.head().serial;
}

void FullRound::fetch(NodeId donor) {
    // The members that still wait with the calls of the round. Calls made since are for the next
    // round.
    Workers members;
    for (const auto& [rank, worker] : job_.workers) {
        const auto call = calls_.find(rank);
        if (worker->state == Worker::State::waiting && call != calls_.end() &&
            call->second == worker->head().serial)
            members.push_back(worker);
    }
    if (members.empty()) {
        if (partial_) partial_->rounds().commit_nothing(sequence_.completed());
        if (!compression_.residuals().is_open()) {
            sequence_.end();
            compression_.residuals().exchange_ended();
            port_.try_start();
            return;
        }
    }
    Exchange::Plan plan =
        plan_fetch(job_, sequence_.completed(), ExchangeKind::fetch, donor, check_, layout_);
    for (const WorkerPtr& worker : members) {
        const Request& request = worker->head();
        const bool keeps_own = request.verb == Verb::broadcast && worker->rank == request.root;
        if (keeps_own) continue;
        plan.recipients.push_back(request.destination());
        plan.marks.push_back(request.mark);
    }
    if (!members.empty() && members.front()->head().verb == Verb::broadcast)
        leave_copy(job_, plan, members.front()->head());
    run(std::move(plan), members);
}

void FullRound::run(Exchange::Plan plan, const Workers& members) {
    const uint64_t now = base::now_ns();
    for (const WorkerPtr& worker : members) worker->begin_moving(now);
    const bool brings_initial = plan.keep_memory == job_.initial.memory;
    Scratch scratch = result_.lend(plan);
    const bool begun = base::attempt([&] {
        // A small exchange on one node ends before start() returns.
        auto exchange = Exchange::start(job_.services, std::move(plan), std::move(scratch),
                                        job_.scope.bind([this, members](ExchangeOutcome& outcome) {
                                            ended(outcome, members);
                                        }));
        if (exchange->ended()) return;
        for (const WorkerPtr& worker : members) worker->exchange = exchange;
        exchange_ = std::move(exchange);
    });
    if (begun) return;
    // No exchange moves the members: whoever catches the exception ends their requests.
    compression_.residuals().take_back();
    if (brings_initial) job_.initial_is_lost();
    result_.lose_lent();
    for (const WorkerPtr& worker : members)
        if (worker->state == Worker::State::moving) worker->wait_again(Worker::State::waiting);
    throw std::bad_alloc();
}

// There may be no members only if the result is fetched: it tells what residuals are after it.
void FullRound::ended(ExchangeOutcome& outcome, const Workers& members) {
    exchange_.reset();
    if (!outcome && !outcome.is_fetch()) traffic_ = outcome.traffic;
    if (!outcome && outcome.plan->keep_memory == job_.initial.memory) job_.initial_is_lost();
    compression_.residuals().take_back();
    result_.keep(outcome);
    if (outcome) {
        if (outcome.is_fetch())
            compression_.residuals().conclude(outcome.plan->layout, result_.bytes(),
                                              result_.hidden());
        if (members.empty()) {
            sequence_.end();
        } else {
            commit(outcome, members);
        }
    } else if (members.empty()) {
        result_is_lost();
    } else {
        failed_with(outcome, members);
    }
    if (!exchange_) compression_.residuals().exchange_ended();
    if (outcome || sequence_.stopped()) port_.go_on();
    if (members.empty()) port_.try_start();
}

// ------------------------------------------------------------------------------------------ commit

void FullRound::commit(const ExchangeOutcome& outcome, const Workers& members) {
    const uint64_t now = base::now_ns();
    const Request first = members.front()->head();
    const auto list = members_of(sequence_.round_view(), first);
    const std::shared_ptr<Scratch>& copy = outcome.plan->keep_memory;
    const bool brings_initial = copy == job_.initial.memory;
    if (brings_initial) job_.initial_came(outcome.plan->layout);
    if (first.verb == Verb::broadcast)
        job_.port->broadcasted(sequence_.completed(), first.buffers,
                               brings_initial ? nullptr : copy);
    if (partial_) partial_->commit_full(first.verb);
    compression_.committed(*outcome.plan);
    const uint64_t round = sequence_.end();
    ++job_.services.counters.rounds;
    for (const WorkerPtr& worker : members) {
        worker->times.met(outcome.met);
        note_model(*worker);
        if (worker->head().verb == Verb::reduce) worker->iteration = worker->head().iteration;
        job_.end_head(worker, ending_of(*worker, outcome, round, list, now));
    }
}

// How the worker's request has ended in this round of these members.
Ending FullRound::ending_of(const Worker& worker, const ExchangeOutcome& outcome, uint64_t round,
                            const std::shared_ptr<MemberList>& members, uint64_t now_ns) const {
    const Request& request = worker.head();
    Ending ending;
    ending.iteration = worker.iteration;
    ending.group = round;
    ending.queued_ns = worker.queued_ns();
    ending.moving_ns = now_ns - worker.moving_since_ns;
    ending.nodes = static_cast<uint32_t>(sequence_.round_view().nodes().size());
    ending.bytes_sent = outcome.traffic.bytes_sent + traffic_.bytes_sent;
    ending.bytes_received = outcome.traffic.bytes_received + traffic_.bytes_received;
    ending.members = members;
    if (request.verb != Verb::reduce) return ending;
    ending.rounds = 1;
    ending.divisor = is_mean(request) ? static_cast<double>(members->size()) : 1.0;
    ending.contributors = static_cast<uint32_t>(members->size());
    ending.resync = job_.is_resync_due(round, round + 1);
    ending.dense = dense_;
    // A node that missed the result has fetched it from one other node; it reports the round.
    if (!ending.dense) ending.entries = outcome.is_fetch() ? result_.chosen() : outcome.entries;
    return ending;
}

// ----------------------------------------------------------------------------------------- failure

void FullRound::failed_with(const ExchangeOutcome& outcome, const Workers& members) {
    const base::Error& error = outcome.error();
    if (outcome.contents_lost) {
        compression_.committed(*outcome.plan);  // if only this node lacks the result
        fail(members, error);
    } else if (error.kind == ErrorKind::memory) {
        end_without_memory(outcome, members);
    } else if (error.kind == ErrorKind::mismatch && outcome.is_fetch()) {
        lose(*outcome.plan, members);
    } else if (error.kind == ErrorKind::mismatch) {
        const Worker& worker = *members.front();
        fail(members,
             base::make_error(ErrorKind::mismatch, "worker {} called {} and {} something else: {}",
                              worker.rank, call_text(worker.head()), job_.caller_at(outcome.unlike),
                              kCallAlike));
    } else {
        // The requests wait for the next view; their buffers are as they were.
        log_failure(outcome);
        if (outcome.has_other_nodes()) port_.wait_for_view();
        for (const WorkerPtr& worker : members) wait_again(worker);
    }
}

// A round that was stopped for another view is in the controller's log.
void FullRound::log_failure(const ExchangeOutcome& outcome) const {
    if (outcome.error().kind == ErrorKind::aborted || !outcome.has_other_nodes()) return;
    base::log_event(base::events::kRoundRedone,
                    {{"job", job_.options.name},
                     {"round", sequence_.completed()},
                     {"nodes", job_.services.peers.names(outcome.plan->nodes)},
                     {"reason", outcome.error().message}});
}

void FullRound::wait_again(const WorkerPtr& worker) {
    worker->wait_again(Worker::State::waiting);
    if (!worker->newcomer || worker->port == nullptr) return;
    // Suspended, or excluded with this node, meanwhile: the worker's place is asked for anew.
    worker->state = Worker::State::idle;
    job_.port->advance(worker);
}

// The round would find no memory again if it were redone with these calls. Other nodes may have its
// result, or redo it with the next calls here: the next view says which.
void FullRound::end_without_memory(const ExchangeOutcome& outcome, const Workers& members) {
    if (!outcome.has_other_nodes()) return fail(members, outcome.error());
    log_failure(outcome);
    port_.wait_for_view();
    for (const WorkerPtr& worker : members) job_.end_head(worker, failed(outcome.error()));
}

// The other nodes have the round behind them, and take part in no other attempt.
void FullRound::lose(const ExchangePlan& fetch, const Workers& members) {
    const NodeId donor = fetch.nodes[fetch.root];
    const auto error = base::make_error(
        ErrorKind::unavailable,
        "{} cannot give {}, which this node missed; call pace_broadcast for the current model",
        job_.services.peers.name(donor), fetch.what);
    base::log_event(
        base::events::kRoundLost,
        {{"job", job_.options.name}, {"round", sequence_.completed()}, {"reason", error.message}});
    end_without_result(members, error);
}

// The other nodes hear that this one takes no part in the round.
void FullRound::fail(const Workers& members, const base::Error& error) {
    const uint64_t number = round_number(job_, sequence_.completed());
    send_poison(job_.services, number, job_.view.nodes());
    // The other nodes may have failed on their own, and say the same.
    job_.services.transport.close_exchange(number);
    end_without_result(members, error);
}

void FullRound::end_without_result(const Workers& members, const base::Error& error) {
    compression_.residuals().discard();
    if (partial_) partial_->rounds().commit_nothing(sequence_.completed());
    sequence_.end();
    result_.drop();
    for (const WorkerPtr& worker : members) job_.end_head(worker, failed(error));
    // The next round begins without a call.
    if (partial_) job_.services.loop.defer(job_.scope.callback([this] { port_.try_start(); }));
}

// If this node has no worker any more, nobody fetches the result for it again: its residuals after
// the round will not be known.
void FullRound::result_is_lost() {
    if (job_.view.contains_node(job_.services.self)) {
        port_.wait_for_view();
        return;
    }
    compression_.residuals().discard();
    compression_.residuals().exchange_ended();
}

}  // namespace pace::daemon
