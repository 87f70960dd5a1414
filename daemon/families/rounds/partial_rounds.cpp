#include "daemon/families/rounds/partial_rounds.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log/training_events.h"
#include "daemon/exchange/exchange.h"
#include "daemon/members/call_text.h"
#include "daemon/runtime/exchange_number.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::Verb;

namespace {

// How many results are kept for a newcomer's model before the rounds wait.
constexpr size_t kRecordedMax = 8;

partial::Late late_of(const control::JobOptions& options) {
    return options.late == control::Late::drop ? partial::Late::drop : partial::Late::accumulate;
}

}  // namespace

partial::Quorum quorum_of(const control::JobOptions& options, uint64_t seed) {
    using Kind = partial::Quorum::Kind;
    switch (options.quorum) {
        case control::Quorum::solo:
            return {Kind::solo, 0, seed};
        case control::Quorum::majority:
            return {Kind::majority, 0, seed};
        case control::Quorum::majority_strict:
            return {Kind::majority_strict, 0, seed};
        case control::Quorum::count:
            return {Kind::count, options.quorum_count, seed};
        case control::Quorum::all:
            break;
    }
    return {Kind::all, 0, seed};
}

PartialRounds::PartialRounds(JobState& job, LastResult& result, Port& port)
    : job_(job),
      result_(result),
      port_(port),
      strand_(std::make_shared<kernels::Strand>(job.services.aside())),
      books_(new_books()) {}

PartialRounds::~PartialRounds() {
    if (!run_) return;
    run_->detach();
    run_->abort(base::make_error(ErrorKind::closed, "the job has ended here"));
}

std::shared_ptr<PartialBooks> PartialRounds::new_books() {
    const auto pay = [payer = job_.payer()](size_t bytes) {
        return std::make_shared<const Charge>(payer.count(bytes));
    };
    auto books = std::make_shared<PartialBooks>(late_of(job_.options), strand_, pay);
    // The round under way may wait for a gradient that is now made.
    books->store.when_made(scope_.bind([this] { handed_in_late(); }));
    return books;
}

partial::Missed& PartialRounds::missed() {
    if (!books_->missed) books_->begin_missed();
    return *books_->missed;
}

// ----------------------------------------------------------------------------------------- workers

void PartialRounds::join(control::Rank rank, uint64_t round) {
    books_->store.join(rank, round);
    told_before_[rank] = round;
}

void PartialRounds::adopted(control::Rank rank, uint64_t round) {
    join(rank, round);
    std::vector<partial::Missed::Outcome> results;
    for (const Recorded& recorded : recorded_)
        if (recorded.round >= round) results.push_back({recorded.result->data(), recorded.result});
    if (books_->missed) {
        if (const auto entered = books_->missed->enter(rank, round, std::move(results)); !entered)
            base::log_event(
                base::events::kNewcomerLacksRounds,
                {{"job", job_.options.name}, {"rank", rank}, {"reason", entered.error().message}});
    }
    update_hold();
}

void PartialRounds::leave(control::Rank rank) {
    books_->store.leave(rank);
    for (const std::shared_ptr<PartialRun>& run : {run_, last_})
        if (run) run->round().left(rank);
    if (books_->missed) books_->missed->forget(rank);
    told_before_.erase(rank);
    update_hold();
    handed_in_late();
}

void PartialRounds::reset(const base::Error& error) {
    if (run_) {
        run_->detach();
        const std::shared_ptr<PartialRun> ending = std::exchange(run_, nullptr);
        ending->abort(error);
    }
    last_.reset();
    // A run that has not ended yet keeps the old books.
    auto books = new_books();
    if (terms()) books->store.agree(*terms());
    if (terms()) books->begin_missed();
    books_ = std::move(books);
    recorded_.clear();
}

// ------------------------------------------------------------------------------------------- calls

void PartialRounds::agree(partial::Terms terms) {
    books_->store.agree(std::move(terms));
}

Result<> PartialRounds::hand_in(const WorkerPtr& worker) {
    const Request& request = worker->head();
    partial::Terms terms{layout_of(request.buffers), request.op == protocol::ReduceOp::mean};
    if (books_->store.terms() && !(terms == *books_->store.terms()))
        return base::make_error(
            ErrorKind::mismatch,
            "worker {} called {}, but the job's first reduce was another one; "
            "with a quorum every reduce of a job names buffers of the same "
            "types and lengths, all of them in one call, and the same operation",
            worker->rank, call_text(request));
    if (!books_->store.terms()) books_->store.agree(std::move(terms));
    PACE_TRY(books_->store.hand_in(worker->rank, segments_of(request.buffers),
                                   std::make_shared<std::vector<BufferPtr>>(request.buffers)));
    worker->handed_in = true;
    return {};
}

std::optional<partial::MissedRounds> PartialRounds::catch_up(const Worker& worker, uint64_t round) {
    if (!books_->missed || !books_->missed->rounds(worker.rank)) return std::nullopt;
    const std::vector<BufferPtr>& buffers = worker.head().destination();
    tell_writing(worker.head().mark);
    const auto missed = books_->missed->take(worker.rank, memory_of(buffers),
                                             std::make_shared<std::vector<BufferPtr>>(buffers));
    books_->store.advance(worker.rank, round);
    return missed;
}

void PartialRounds::handed_in_late() {
    const std::shared_ptr<PartialRun> run = run_;
    if (run) run->round().look_again();
}

bool PartialRounds::was_in_time(const partial::RoundOutcome& outcome, control::Rank rank) const {
    // The round takes all that the store has, so what is there now came later.
    if (stores(rank)) return false;
    return std::any_of(
        outcome.contributors.begin(), outcome.contributors.end(),
        [rank](const partial::Contributor& contributor) { return contributor.rank == rank; });
}

bool PartialRounds::asks_for_sync(control::Rank rank, uint64_t round) {
    return job_.is_resync_due(std::exchange(told_before_[rank], round), round);
}

void PartialRounds::free_memory(const Worker& worker) {
    const auto secured = books_->store.secure(worker.rank);
    if (secured) return;
    base::log_event(
        base::events::kGradientLost,
        {{"job", job_.options.name}, {"rank", worker.rank}, {"reason", secured.error().message}});
    books_->store.take_back(worker.rank);
}

bool PartialRounds::withdraw(const Worker& worker) {
    if (worker.head().verb != Verb::reduce)
        return !run_ || run_->round().waits_no_more(worker.rank);
    return !worker.handed_in || books_->store.take_back(worker.rank);
}

// ------------------------------------------------------------------------------------------ rounds

partial::RoundPlan PartialRounds::plan_of(const View& view, uint64_t round) const {
    const control::JobOptions& options = job_.options;
    partial::RoundPlan plan;
    plan.round = round;
    plan.quorum = quorum_of(options, job_.token);
    plan.divide_by = options.divide_by == control::DivideBy::contributors
                         ? partial::DivideBy::contributors
                         : partial::DivideBy::world;
    plan.staleness_max = options.staleness_max;
    plan.roster = view.roster();
    const std::vector<NodeId> nodes = view.nodes();
    plan.group.self = static_cast<size_t>(
        std::find(nodes.begin(), nodes.end(), job_.services.self) - nodes.begin());
    plan.group.zones = view.zones();
    plan.group.exchange = exchange_number(job_.token, ExchangeKind::partial, view.epoch, round);
    plan.data_exchange = exchange_number(job_.token, ExchangeKind::partial_data, view.epoch, round);
    plan.options = job_.services.options.all_reduce;
    return plan;
}

void PartialRounds::begin(const View& view, uint64_t round) {
    last_.reset();
    run_ = std::make_shared<PartialRun>(
        job_.services, PartialRun::Place{job_.id, view.nodes(), fmt::format("round {}", round)},
        plan_of(view, round), books_, [this] { return result_.take_memory(); });
    update_hold();
    run_->start([this](const Result<partial::RoundOutcome>& outcome) {
        last_ = std::exchange(run_, nullptr);
        if (terms()) missed();
        port_.ended(outcome);
    });
}

void PartialRounds::count_calls(const std::vector<WorkerPtr>& members) {
    for (const WorkerPtr& worker : members) {
        // Each call may end the round.
        const std::shared_ptr<PartialRun> run = run_;
        if (!run) return;
        if (worker->state != Worker::State::waiting) continue;
        // A broadcast that waits for its root is no call yet.
        if (job_.lacks_root(worker->head())) continue;
        if (worker->head().verb != Verb::reduce) {
            run->round().waits(worker->rank);
        } else if (worker->handed_in) {
            run->round().arrived(worker->rank);
        }
    }
}

void PartialRounds::abort(const base::Error& error) {
    const std::shared_ptr<PartialRun> run = run_;
    if (run) run->abort(error);
}

void PartialRounds::put_back() {
    if (!last_) return;
    if (const auto put = last_->round().put_back(); !put)
        base::log_event(base::events::kGradientLost,
                        {{"job", job_.options.name}, {"reason", put.error().message}});
}

void PartialRounds::used_up() {
    if (last_) last_->round().used_up();
}

void PartialRounds::remember(uint64_t round, const partial::Missed::Outcome& result,
                             const std::vector<control::Rank>& given) {
    std::vector<control::Rank> late;
    for (const auto& [rank, worker] : job_.workers) {
        const auto base = books_->store.base(rank);
        const bool gets_it = std::find(given.begin(), given.end(), rank) != given.end();
        if (base && *base <= round && !gets_it) late.push_back(rank);
    }
    if (const auto added = missed().add(round, result, late); !added)
        base::log_event(base::events::kLateRoundLost,
                        {{"job", job_.options.name}, {"reason", added.error().message}});
    if (is_recording()) {
        record(round, result);
    } else {
        recorded_.clear();
    }
}

void PartialRounds::commit(uint64_t round, const std::vector<control::Rank>& given) {
    books_->store.close(round);
    for (const control::Rank rank : given) books_->store.advance(rank, round + 1);
}

void PartialRounds::commit_nothing(uint64_t round) {
    books_->store.close(round);
    for (const auto& [rank, worker] : job_.workers) {
        const bool up_to_date = !books_->missed || !books_->missed->rounds(rank);
        if (up_to_date) books_->store.advance(rank, round + 1);
    }
}

void PartialRounds::commit_equal(uint64_t round) {
    for (const auto& [rank, worker] : job_.workers)
        if (books_->missed) books_->missed->forget(rank);
    recorded_.clear();
    commit_nothing(round);
}

// --------------------------------------------------------------------------------------- newcomers

bool PartialRounds::is_recording() const {
    return std::any_of(job_.workers.begin(), job_.workers.end(), [this](const auto& entry) {
        const Worker& worker = *entry.second;
        const bool adopts =
            worker.state == Worker::State::adopting || worker.state == Worker::State::taking;
        return adopts && !worker.newcomer && !books_->store.has_worker(worker.rank);
    });
}

void PartialRounds::record(uint64_t round, const partial::Missed::Outcome& result) {
    Recorded recorded{round, std::make_shared<Scratch>()};
    const size_t bytes = terms()->layout.bytes();
    const auto memory = recorded.result->reserve(bytes, job_.payer());
    if (!memory) {
        base::log_event(base::events::kNewcomerRoundLost,
                        {{"job", job_.options.name}, {"reason", memory.error().message}});
        return;
    }
    strand_->run(2 * bytes, bytes, kernels::Aside::kGrainBytes,
                 [result, to = recorded.result](size_t begin, size_t end) {
                     std::memcpy(to->data() + begin, result.data + begin, end - begin);
                 });
    recorded_.push_back(std::move(recorded));
}

void PartialRounds::update_hold() {
    if (!is_recording()) recorded_.clear();
    if (run_) run_->round().hold(recorded_.size() >= kRecordedMax);
}

// Only one node of the round knows which of the other workers have called, if any node does.
std::string PartialRounds::awaited() const {
    std::vector<NodeId> nodes = run_->waiting_for();
    if (nodes.empty()) {
        nodes = run_->nodes();
        std::erase(nodes, job_.services.self);
    }
    if (nodes.empty()) return run_->what() + " to end";
    return fmt::format("{} to call for {}, until its quorum has", job_.workers_at(nodes),
                       run_->what());
}

}  // namespace pace::daemon
