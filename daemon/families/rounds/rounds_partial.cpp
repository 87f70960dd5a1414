// Rounds of a job that does not wait for the slow: each is a reduction by the workers that have
// called, or, if all workers have called one, a verb for all members.
#include <algorithm>
#include <utility>

#include "base/training_events.h"
#include "daemon/families/rounds/rounds.h"
#include "daemon/families/rounds/told_round.h"
#include "daemon/members/call_text.h"
#include "daemon/members/digest.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using partial::RoundOutcome;
using partial::Verdict;
using protocol::Verb;

namespace {

std::shared_ptr<const MemberList> members_of(const View& view, const RoundOutcome& outcome) {
    auto members = std::make_shared<MemberList>();
    members->reserve(view.members.size());
    for (const control::Member& member : view.members) members->push_back({member.rank, 0, 0, 0.0});
    for (const partial::Contributor& contributor : outcome.contributors) {
        const auto entry = std::find_if(
            members->begin(), members->end(),
            [&](const protocol::MemberEntry& m) { return m.rank == contributor.rank; });
        if (entry == members->end()) continue;
        entry->staleness = contributor.staleness;
        entry->weight = 1.0 / outcome.divisor;
    }
    return members;
}

bool contributes(const RoundOutcome& outcome, control::Rank rank) {
    return std::any_of(
        outcome.contributors.begin(), outcome.contributors.end(),
        [rank](const partial::Contributor& contributor) { return contributor.rank == rank; });
}

}  // namespace

// A result on its way to the workers that have called for it.
struct Rounds::Delivery {
    RoundOutcome outcome;
    Scratch memory;
    collectives::Layout layout;
    std::vector<WorkerPtr> workers;
    std::vector<control::Rank> given;  // the ranks of these workers
    std::vector<BufferPtr> keep;       // the workers' buffers
    std::vector<collectives::Recipient> recipients;
    WriteMarkList marks;
};

// The members on this node whose trainers are here.
std::vector<WorkerPtr> Rounds::members_here() const {
    std::vector<WorkerPtr> members;
    for (const control::Member& member : job_.view.members) {
        if (member.node != job_.services.self) continue;
        if (WorkerPtr worker = job_.find(member.rank)) members.push_back(std::move(worker));
    }
    return members;
}

// The members here whose gradients the round that now ends has, or could have had. A newcomer may
// already have a model with that round's result, while this node still fetches the result.
std::vector<WorkerPtr> Rounds::callers_here() const {
    std::vector<WorkerPtr> callers = members_here();
    std::erase_if(callers, [this](const WorkerPtr& worker) {
        if (worker->state != Worker::State::waiting || !worker->handed_in) return true;
        const auto base = partial_->base(worker->rank);
        return base ? *base > completed_ : !worker->suspended;
    });
    return callers;
}

// ------------------------------------------------------------------------------------------- calls

void Rounds::called(const WorkerPtr& worker) {
    worker->state = Worker::State::waiting;
    const bool brings = partial_ && worker->head().verb == Verb::reduce;
    if (brings && partial_->has(worker->rank) && !take_call(worker)) return;
    try_start();
}

// False if the call has ended the worker's request.
bool Rounds::take_call(const WorkerPtr& worker) {
    if (partial_->is_learning() || delivering_) return true;  // the call is taken in the next round
    if (job_.hold->is_held()) {
        // The call may write missed results to the worker's buffers.
        job_.hold->when_free(job_.scope.callback([this] { try_start(); }));
        return true;
    }
    if (const auto handed_in = partial_->hand_in(worker); !handed_in) {
        job_.end_head(worker, failed(handed_in.error()));
        return false;
    }
    return !give_missed(worker);
}

// True if the worker has missed rounds. Its request then ends when their results are written and
// its gradient is copied.
bool Rounds::give_missed(const WorkerPtr& worker) {
    const auto missed = partial_->catch_up(*worker, completed_);
    if (!missed) return false;
    worker->begin_moving(base::now_ns());
    const Ending ending = partial_ending(*worker, missed->count, true);
    partial_->strand().then(job_.scope.callback([this, worker, ending] {
        tell_whole(worker->head().mark);
        end_partial(worker, ending);
        // The round under way may wait for this gradient, and end before the call returns.
        partial_->handed_in_late();
    }));
    return true;
}

bool Rounds::withdraw(const Worker& worker) {
    return !partial_ || partial_->withdraw(worker);
}

bool Rounds::suspend(const Worker& worker) {
    // The worker's gradients are forgotten with the worker: one that a failed round had taken, and
    // one that no round has yet.
    const bool goes_on = worker.state == Worker::State::waiting && !withdraw(worker) &&
                         is_exchanging() && !partial_->stores(worker.rank);
    departed(worker);
    return goes_on;
}

void Rounds::departed(const Worker& worker) {
    if (partial_) partial_->leave(worker.rank);
}

void Rounds::left(const Worker& worker) {
    departed(worker);
    compression_.departed(worker);
    if (!is_busy()) compression_.exchange_ended();
}

std::optional<uint64_t> Rounds::model_round(const Worker& worker) const {
    // A node that fetches a result first learns what the result hides. Until then its workers'
    // models are of the round before.
    if (job_.view.epoch == waits_in_) return std::nullopt;
    if (!partial_) return completed_;
    const auto base = partial_->base(worker.rank);
    if (base && *base >= view_base_) return base;
    // The worker waits for all members, the newcomer included, so no round comes before: rounds
    // that the worker lacks, the newcomer lacks too.
    if (worker.head().verb != Verb::reduce) return completed_;
    return std::nullopt;
}

void Rounds::adopted(const Worker& newcomer, uint64_t round) {
    if (partial_) partial_->adopted(newcomer.rank, round);
}

// ----------------------------------------------------------------------------- from round to round

void Rounds::open_partial() {
    if (!job_.view.contains_node(job_.services.self)) return;
    for (const WorkerPtr& worker : members_here()) {
        // The view may still have a rank whose new trainer is no member yet.
        if (worker->has_model() && !partial_->has(worker->rank))
            partial_->join(worker->rank, completed_);
        const bool brings = worker->state == Worker::State::waiting && !worker->handed_in &&
                            worker->head().verb == Verb::reduce;
        if (brings) take_call(worker);
    }
    if (!partial_->under_way()) {
        round_view_ = job_.view;
        partial_->begin(round_view_, completed_);
    }
    partial_->count_calls(members_here());
}

void Rounds::partial_ended(const Result<RoundOutcome>& outcome) {
    Scratch memory = partial_->last()->take_scratch();
    if (!outcome) {
        if (memory.size() != 0) retained_.memory = std::move(memory);
        partial_failed(outcome.error());
        return;
    }
    switch (outcome->verdict) {
        case Verdict::sum:
            deliver(*outcome, std::move(memory));
            return;
        case Verdict::everyone:
            everyone_ = true;
            break;
        case Verdict::disagree:
        case Verdict::nothing:
            skip(*outcome);
            break;
    }
    go_on();
}

// The requests wait for the next view, with the gradients that were taken. If there is no memory
// for the result they would wait for ever, so they end.
void Rounds::partial_failed(const base::Error& error) {
    if (partial_->last()->nodes().size() > 1) wait_for_view();
    if (error.kind == ErrorKind::memory) {
        partial_->put_back();
        for (const WorkerPtr& worker : callers_here()) {
            partial_->withdraw(*worker);
            job_.end_head(worker, failed(error));
        }
    }
    if (preparing_ != 0) {
        answer_prepare();
        return;
    }
    base::log_event(base::events::kRoundFailed,
                    {{"job", job_.options.name}, {"round", completed_}, {"reason", error.message}});
    // The next round begins without a call.
    if (error.kind == ErrorKind::memory)
        job_.services.loop.defer(job_.scope.callback([this] { try_start(); }));
}

// No round has the requests of workers that were suspended in the midst of one any more, and the
// next view goes without these workers.
void Rounds::end_suspended() {
    std::vector<WorkerPtr> suspended;
    for (const auto& [rank, worker] : job_.workers)
        if (worker->state == Worker::State::waiting && worker->suspended)
            suspended.push_back(worker);
    for (const WorkerPtr& worker : suspended) wait_again(worker);
}

// The first node whose terms differ from this node's.
NodeId Rounds::unlike_here(const RoundOutcome& outcome) const {
    const std::vector<NodeId> nodes = round_view_.nodes();
    const uint32_t own = !partial_->terms() ? 0 : digest_of(*partial_->terms());
    for (size_t i = 0; i < std::min(nodes.size(), outcome.terms.size()); ++i)
        if (outcome.terms[i] != 0 && outcome.terms[i] != own) return nodes[i];
    return 0;
}

// The round has no result.
void Rounds::skip(const RoundOutcome& outcome) {
    const std::vector<WorkerPtr> callers = callers_here();
    tell(outcome);
    retain(0, 0);
    partial_->commit_nothing(completed_);
    ++completed_;
    if (outcome.verdict != Verdict::disagree) return;
    for (const WorkerPtr& worker : callers) {
        job_.end_head(
            worker,
            failed(base::make_error(
                ErrorKind::mismatch, "worker {} called {} and {} something else: {}", worker->rank,
                call_text(worker->head()), job_.caller_at(unlike_here(outcome)), kCallAlike)));
    }
}

void Rounds::deliver(const RoundOutcome& outcome, Scratch memory) {
    if (job_.hold->is_held()) return deliver_later(outcome, std::move(memory));
    auto delivery = std::make_shared<Delivery>();
    delivery->outcome = outcome;
    delivery->memory = std::move(memory);
    // Null if everything was declared void while the result waited.
    const uint64_t began =
        partial_->last() != nullptr ? partial_->last()->began_ns() : base::now_ns();
    for (const WorkerPtr& worker : callers_here()) {
        if (worker->suspended && !contributes(outcome, worker->rank)) continue;
        partial_->free_memory(*worker);
        worker->begin_moving(began);
        const std::vector<BufferPtr>& buffers = worker->head().destination();
        delivery->recipients.emplace_back().segments = memory_of(buffers);
        delivery->keep.insert(delivery->keep.end(), buffers.begin(), buffers.end());
        delivery->workers.push_back(worker);
        delivery->given.push_back(worker->rank);
        delivery->marks.push_back(worker->head().mark);
    }
    delivery->layout = partial_->terms()->layout;
    tell_writing(delivery->marks);
    delivering_ = delivery;
    const size_t bytes = delivery->layout.bytes();
    const std::byte* const result = delivery->memory.data();
    // The work keeps the delivery, and with it all memory that it touches.
    if (!delivery->recipients.empty())
        partial_->strand().run(bytes * (delivery->recipients.size() + 1), bytes,
                               kernels::Aside::kGrainBytes,
                               [delivery, copy = collectives::copying_to_members(
                                              delivery->layout, result, delivery->recipients)](
                                   size_t begin, size_t end) { copy(begin, end); });
    partial_->remember(completed_, {result, delivery}, delivery->given);
    partial_->strand().then(job_.scope.callback([this, delivery] { delivered(delivery); }));
}

void Rounds::deliver_later(const RoundOutcome& outcome, Scratch memory) {
    delivering_ = std::make_shared<Delivery>();
    delivering_->memory = std::move(memory);
    job_.hold->when_free([this, outcome, waiting = std::weak_ptr(delivering_)] {
        // Null if everything was declared void meanwhile.
        if (const auto delivery = waiting.lock()) deliver(outcome, std::move(delivery->memory));
    });
}

void Rounds::delivered(const std::shared_ptr<Delivery>& delivery) {
    delivering_.reset();
    tell_whole(delivery->marks);
    partial_->commit(completed_, delivery->given);
    tell(delivery->outcome);
    retain(delivery->layout.bytes(), partial::digest_of(*partial_->terms()));
    if (round_view_.nodes().size() <= 1) retained_.drop();
    retained_.memory = std::move(delivery->memory);
    ++completed_;
    ++job_.services.counters.rounds;
    for (const WorkerPtr& worker : delivery->workers) {
        const bool late = !partial_->was_in_time(delivery->outcome, worker->rank);
        end_partial(worker, partial_ending(*worker, 1, late));
    }
    // Workers that have called since get the result too; their gradients count in the next round.
    job_.hold->when_free(job_.scope.callback([this] {
        for (const WorkerPtr& worker : members_here()) {
            if (worker->state != Worker::State::waiting) continue;
            if (worker->handed_in)
                give_missed(worker);
            else if (worker->head().verb == Verb::reduce && partial_->has(worker->rank))
                take_call(worker);
        }
        go_on();
    }));
}

// Sets what this node's workers, and nodes that missed the round, are told of it.
void Rounds::tell(const RoundOutcome& outcome) {
    retained_.told = write({outcome, partial_->terms()}, round_view_.roster());
    if (outcome.verdict != Verdict::sum) return;
    told_.round = completed_;
    told_.outcome = outcome;
    told_.members = members_of(round_view_, outcome);
    told_.nodes = static_cast<uint32_t>(round_view_.nodes().size());
    const PartialRun* run = partial_->last();
    if (run == nullptr) return;
    told_.bytes_sent = run->round().traffic().bytes_sent;
    told_.bytes_received = run->round().traffic().bytes_received;
    told_.began_ns = run->began_ns();
}

// The ending of the worker's first request, as of now.
Ending Rounds::partial_ending(const Worker& worker, uint64_t rounds, bool late) {
    const Request& request = worker.head();
    Ending ending;
    ending.iteration = request.iteration;
    ending.group =
        // The last round that had a sum; verbs for all members may have come after it.
        told_.round;
    ending.rounds = rounds;
    ending.late = late;
    ending.resync = partial_->asks_for_sync(worker.rank, completed_);
    ending.divisor = told_.outcome.divisor;
    ending.contributors = static_cast<uint32_t>(told_.outcome.contributors.size());
    ending.members = told_.members;
    ending.nodes = told_.nodes;
    ending.bytes_sent = told_.bytes_sent;
    ending.bytes_received = told_.bytes_received;
    const uint64_t began = std::clamp(told_.began_ns, request.submitted_ns, base::now_ns());
    ending.queued_ns = began - request.submitted_ns;
    return ending;
}

void Rounds::end_partial(const WorkerPtr& worker, Ending ending) {
    worker->iteration = ending.iteration;
    ending.moving_ns = base::now_ns() - worker->head().submitted_ns - ending.queued_ns;
    if (ending.late) ++job_.services.counters.gradients_late;
    job_.end_head(worker, std::move(ending));
}

}  // namespace pace::daemon
