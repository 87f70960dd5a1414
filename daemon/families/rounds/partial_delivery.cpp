#include "daemon/families/rounds/partial_delivery.h"

#include <algorithm>
#include <utility>

#include "base/log/training_events.h"
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
struct PartialDelivery::Delivery {
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
std::vector<WorkerPtr> PartialDelivery::members_here() const {
    std::vector<WorkerPtr> members;
    for (const control::Member& member : job_.view.members) {
        if (member.node != job_.services.self) continue;
        if (WorkerPtr worker = job_.find(member.rank)) members.push_back(std::move(worker));
    }
    return members;
}

// The members here whose gradients the round that now ends has, or could have had. A newcomer may
// already have a model with that round's result, while this node still fetches the result.
std::vector<WorkerPtr> PartialDelivery::callers_here() const {
    std::vector<WorkerPtr> callers = members_here();
    std::erase_if(callers, [this](const WorkerPtr& worker) {
        if (worker->state != Worker::State::waiting || !worker->handed_in) return true;
        const auto base = rounds_.base(worker->rank);
        return base ? *base > sequence_.completed() : !worker->suspended;
    });
    return callers;
}

// ------------------------------------------------------------------------------------------- calls

bool PartialDelivery::take_call(const WorkerPtr& worker) {
    if (rounds_.is_learning() || delivering_) return true;  // the call is taken in the next round
    if (job_.hold->is_held()) {
        // The call may write missed results to the worker's buffers.
        job_.hold->when_free(job_.scope.callback([this] { port_.try_start(); }));
        return true;
    }
    if (const auto handed_in = rounds_.hand_in(worker); !handed_in) {
        job_.end_head(worker, failed(handed_in.error()));
        return false;
    }
    return !give_missed(worker);
}

// True if the worker has missed rounds. Its request then ends when their results are written and
// its gradient is copied.
bool PartialDelivery::give_missed(const WorkerPtr& worker) {
    const auto missed = rounds_.catch_up(*worker, sequence_.completed());
    if (!missed) return false;
    worker->begin_moving(base::now_ns());
    const Ending ending = ending_of(*worker, missed->count, true);
    rounds_.strand().then(job_.scope.callback([this, worker, ending] {
        tell_whole(worker->head().mark);
        end(worker, ending);
        // The round under way may wait for this gradient, and end before the call returns.
        rounds_.handed_in_late();
    }));
    return true;
}

std::optional<uint64_t> PartialDelivery::model_round(const Worker& worker) const {
    const auto base = rounds_.base(worker.rank);
    if (base && *base >= sequence_.view_base()) return base;
    // The worker waits for all members, the newcomer included, so no round comes before: rounds
    // that the worker lacks, the newcomer lacks too.
    if (worker.head().verb != Verb::reduce) return sequence_.completed();
    return std::nullopt;
}

// ----------------------------------------------------------------------------- from round to round

void PartialDelivery::open() {
    if (!job_.view.contains_node(job_.services.self)) return;
    for (const WorkerPtr& worker : members_here()) {
        // The view may still have a rank whose new trainer is no member yet.
        if (worker->has_model() && !rounds_.has(worker->rank))
            rounds_.join(worker->rank, sequence_.completed());
        const bool brings = worker->state == Worker::State::waiting && !worker->handed_in &&
                            worker->head().verb == Verb::reduce;
        if (brings) take_call(worker);
    }
    if (!rounds_.under_way()) {
        sequence_.begin();
        rounds_.begin(sequence_.round_view(), sequence_.completed());
    }
    rounds_.count_calls(members_here());
}

void PartialDelivery::ended(const Result<RoundOutcome>& outcome) {
    Scratch memory = rounds_.last()->take_scratch();
    if (!outcome) {
        result_.put_back(std::move(memory));
        failed_with(outcome.error());
        return;
    }
    switch (outcome->verdict) {
        case Verdict::sum:
            deliver(*outcome, std::move(memory));
            return;
        case Verdict::everyone:
            sequence_.serve_everyone();
            break;
        case Verdict::disagree:
        case Verdict::nothing:
            skip(*outcome);
            break;
    }
    port_.go_on();
}

// The requests wait for the next view, with the gradients that were taken. If there is no memory
// for the result they would wait for ever, so they end.
void PartialDelivery::failed_with(const base::Error& error) {
    if (rounds_.last()->nodes().size() > 1) port_.wait_for_view();
    if (error.kind == ErrorKind::memory) {
        rounds_.put_back();
        for (const WorkerPtr& worker : callers_here()) {
            rounds_.withdraw(*worker);
            job_.end_head(worker, failed(error));
        }
    }
    if (sequence_.stopped()) return port_.go_on();
    base::log_event(
        base::events::kRoundFailed,
        {{"job", job_.options.name}, {"round", sequence_.completed()}, {"reason", error.message}});
    // The next round begins without a call.
    if (error.kind == ErrorKind::memory)
        job_.services.loop.defer(job_.scope.callback([this] { port_.try_start(); }));
}

// The first node whose terms differ from this node's.
NodeId PartialDelivery::unlike_here(const RoundOutcome& outcome) const {
    const std::vector<NodeId> nodes = sequence_.round_view().nodes();
    const uint32_t own = !rounds_.terms() ? 0 : digest_of(*rounds_.terms());
    for (size_t i = 0; i < std::min(nodes.size(), outcome.terms.size()); ++i)
        if (outcome.terms[i] != 0 && outcome.terms[i] != own) return nodes[i];
    return 0;
}

void PartialDelivery::skip(const RoundOutcome& outcome) {
    const std::vector<WorkerPtr> callers = callers_here();
    tell(outcome);
    result_.keep(0, 0);
    rounds_.commit_nothing(sequence_.completed());
    sequence_.end();
    if (outcome.verdict != Verdict::disagree) return;
    for (const WorkerPtr& worker : callers) {
        job_.end_head(
            worker,
            failed(base::make_error(
                ErrorKind::mismatch, "worker {} called {} and {} something else: {}", worker->rank,
                call_text(worker->head()), job_.caller_at(unlike_here(outcome)), kCallAlike)));
    }
}

void PartialDelivery::deliver(const RoundOutcome& outcome, Scratch memory) {
    if (job_.hold->is_held()) return deliver_later(outcome, std::move(memory));
    auto delivery = std::make_shared<Delivery>();
    delivery->outcome = outcome;
    delivery->memory = std::move(memory);
    // Null if everything was declared void while the result waited.
    const uint64_t began = rounds_.last() != nullptr ? rounds_.last()->began_ns() : base::now_ns();
    for (const WorkerPtr& worker : callers_here()) {
        if (worker->suspended && !contributes(outcome, worker->rank)) continue;
        rounds_.free_memory(*worker);
        worker->begin_moving(began);
        const std::vector<BufferPtr>& buffers = worker->head().destination();
        delivery->recipients.emplace_back().segments = memory_of(buffers);
        delivery->keep.insert(delivery->keep.end(), buffers.begin(), buffers.end());
        delivery->workers.push_back(worker);
        delivery->given.push_back(worker->rank);
        delivery->marks.push_back(worker->head().mark);
    }
    delivery->layout = rounds_.terms()->layout;
    tell_writing(delivery->marks);
    delivering_ = delivery;
    const size_t bytes = delivery->layout.bytes();
    const std::byte* const result = delivery->memory.data();
    // The work keeps the delivery, and with it all memory that it touches.
    if (!delivery->recipients.empty())
        rounds_.strand().run(bytes * (delivery->recipients.size() + 1), bytes,
                             kernels::Aside::kGrainBytes,
                             [delivery, copy = collectives::copying_to_members(
                                            delivery->layout, result, delivery->recipients)](
                                 size_t begin, size_t end) { copy(begin, end); });
    rounds_.remember(sequence_.completed(), {result, delivery}, delivery->given);
    rounds_.strand().then(job_.scope.callback([this, delivery] { delivered(delivery); }));
}

void PartialDelivery::deliver_later(const RoundOutcome& outcome, Scratch memory) {
    delivering_ = std::make_shared<Delivery>();
    delivering_->memory = std::move(memory);
    job_.hold->when_free([this, outcome, waiting = std::weak_ptr(delivering_)] {
        // Null if everything was declared void meanwhile.
        if (const auto delivery = waiting.lock()) deliver(outcome, std::move(delivery->memory));
    });
}

void PartialDelivery::delivered(const std::shared_ptr<Delivery>& delivery) {
    delivering_.reset();
    tell_whole(delivery->marks);
    rounds_.commit(sequence_.completed(), delivery->given);
    tell(delivery->outcome);
    result_.keep(delivery->layout.bytes(), partial::digest_of(*rounds_.terms()));
    if (sequence_.round_view().nodes().size() <= 1) result_.drop();
    result_.put_back(std::move(delivery->memory));
    sequence_.end();
    ++job_.services.counters.rounds;
    for (const WorkerPtr& worker : delivery->workers) {
        const bool late = !rounds_.was_in_time(delivery->outcome, worker->rank);
        end(worker, ending_of(*worker, 1, late));
    }
    // Workers that have called since get the result too; their gradients count in the next round.
    job_.hold->when_free(job_.scope.callback([this] {
        for (const WorkerPtr& worker : members_here()) {
            if (worker->state != Worker::State::waiting) continue;
            if (worker->handed_in)
                give_missed(worker);
            else if (worker->head().verb == Verb::reduce && rounds_.has(worker->rank))
                take_call(worker);
        }
        port_.go_on();
    }));
}

void PartialDelivery::commit_full(Verb verb) {
    tell({Verdict::everyone, {}, 1.0, {}});
    if (verb == Verb::barrier)
        rounds_.commit_nothing(sequence_.completed());
    else
        rounds_.commit_equal(sequence_.completed());
}

// Sets what this node's workers, and nodes that missed the round, are told of it.
void PartialDelivery::tell(const RoundOutcome& outcome) {
    result_.tell(write({outcome, rounds_.terms()}, sequence_.round_view().roster()));
    if (outcome.verdict != Verdict::sum) return;
    told_.group = sequence_.completed();
    told_.divisor = outcome.divisor;
    told_.contributors = static_cast<uint32_t>(outcome.contributors.size());
    told_.members = members_of(sequence_.round_view(), outcome);
    told_.nodes = static_cast<uint32_t>(sequence_.round_view().nodes().size());
    const PartialRun* run = rounds_.last();
    if (run == nullptr) return;
    told_.bytes_sent = run->round().traffic().bytes_sent;
    told_.bytes_received = run->round().traffic().bytes_received;
    told_began_ns_ = run->began_ns();
}

// The ending of the worker's first request, as of now.
Ending PartialDelivery::ending_of(const Worker& worker, uint64_t rounds, bool late) {
    const Request& request = worker.head();
    Ending ending = told_;
    ending.iteration = request.iteration;
    ending.rounds = rounds;
    ending.late = late;
    ending.resync = rounds_.asks_for_sync(worker.rank, sequence_.completed());
    const uint64_t began = std::clamp(told_began_ns_, request.submitted_ns, base::now_ns());
    ending.queued_ns = began - request.submitted_ns;
    return ending;
}

void PartialDelivery::end(const WorkerPtr& worker, Ending ending) {
    worker->iteration = ending.iteration;
    ending.moving_ns = base::now_ns() - worker->head().submitted_ns - ending.queued_ns;
    if (ending.late) ++job_.services.counters.gradients_late;
    job_.end_head(worker, std::move(ending));
}

}  // namespace pace::daemon
