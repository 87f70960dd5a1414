#include "daemon/partial/partial_round.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "daemon/collectives/layout/local_part.h"
#include "daemon/partial/agreement/slots.h"

namespace pace::partial {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;
using base::Task;

PartialRound::PartialRound(transports::Transport& transport, RoundPlan plan, Store& store)
    : transport_(transport),
      plan_(std::move(plan)),
      store_(store),
      start_(transport, plan_.group),
      activation_(start_, {[this] { wake_.notify(); }, [this] { wake_.notify(); }}),
      arrivals_(start_, plan_.quorum, plan_.roster, plan_.round,
                {[this] { activation_.start(); }, [this] { wake_.notify(); }}),
      agreement_(start_, plan_.roster) {}

PartialRound::~PartialRound() {
    // No caller can take an error here. The only loss is what there was no memory for.
    static_cast<void>(put_back());
}

Result<> PartialRound::check_plan() const {
    if (plan_.roster.nodes.size() != plan_.group.nodes.size())
        return make_error(ErrorKind::invalid, "the roster has {} nodes, but the group {}",
                          plan_.roster.nodes.size(), plan_.group.nodes.size());
    if (plan_.roster.workers() == 0)
        return make_error(ErrorKind::invalid, "a round without workers never starts");
    if (plan_.data_exchange == plan_.group.exchange)
        return make_error(ErrorKind::invalid, "both exchanges have the number {:016x}",
                          plan_.data_exchange);
    return {};
}

Task<Result<RoundOutcome>> PartialRound::run(Memory memory) {
    if (Result<> checked = check_plan(); !checked) {
        start_.abort(checked.error());
        co_return std::move(checked).error();
    }
    Result<RoundOutcome> outcome = co_await start_and_sum(std::move(memory));
    // Other nodes may be sending already. A send ends only when its receiver takes or refuses it.
    if (!outcome && !data_) transport_.close_exchange(plan_.data_exchange);
    start_.abort(make_error(ErrorKind::closed, "the round has started everywhere"));
    arrivals_.stop();
    co_await arrivals_.ended();
    co_await activation_.ended();
    co_return outcome;
}

Task<Result<RoundOutcome>> PartialRound::start_and_sum(Memory memory) {
    const Result<std::vector<NodeView>> views = co_await start();
    if (!views) co_return views.error();
    RoundOutcome outcome = outcome_of(plan_.roster, *views, plan_.divide_by);
    if (outcome.verdict != Verdict::sum) co_return outcome;
    if (Result<> shared = co_await share_terms(*views); !shared)
        co_return std::move(shared).error();
    // All nodes have begun the round, so no node needs to listen any more.
    start_.abort(make_error(ErrorKind::closed, "the round has started everywhere"));

    if (!store_.terms()->mean) outcome.divisor = 1.0;
    const Result<std::span<std::byte>> result = memory(store_.layout().bytes());
    if (!result) co_return result.error();
    if (result->size() != store_.layout().bytes())
        co_return make_error(ErrorKind::invalid,
                             "the result has {} bytes, but the layout {}; allocate the latter",
                             result->size(), store_.layout().bytes());
    if (Result<> summed = co_await sum(outcome, *result); !summed)
        co_return std::move(summed).error();
    co_return outcome;
}

// Ends when all nodes know who gives what.
Task<Result<std::vector<NodeView>>> PartialRound::start() {
    begin_start();
    while (!start_.aborted() && !activation_.activated()) co_await wake_.notified();
    arrivals_.stop();
    while (!start_.aborted() && (held_ || !store_.is_made() || !awaited().empty()))
        co_await wake_.notified();
    if (start_.aborted()) co_return start_.status().error();
    co_return co_await agreement_.run(take());
}

void PartialRound::begin_start() {
    activation_.listen();
    arrivals_.listen();
    listening_ = true;
    for (Call& call : calls_) call.counts_as_waiting = call.waits;
    for (const Call& call : std::vector(calls_)) arrivals_.arrived(call.rank, call.waits);
}

void PartialRound::arrived(Rank rank) {
    call(rank, false);
}

void PartialRound::waits(Rank rank) {
    call(rank, true);
}

void PartialRound::call(Rank rank, bool waits) {
    const std::vector<Rank>& own = own_ranks();
    if (std::find(own.begin(), own.end(), rank) == own.end()) return;
    const auto known = std::find_if(calls_.begin(), calls_.end(),
                                    [rank](const Call& other) { return other.rank == rank; });
    if (known != calls_.end()) {
        // The worker took its first call back and has called again.
        known->waits = waits;
        const bool gives_after_all =
            listening_ && !waits && std::exchange(known->counts_as_waiting, false);
        if (gives_after_all) arrivals_.gives_after_all(rank);
        return;
    }
    calls_.push_back({rank, waits, waits && listening_});
    if (!listening_) return;
    if (!activation_.activated())
        arrivals_.arrived(rank, waits);
    else
        wake_.notify();  // the round may be waiting for this worker
}

bool PartialRound::waits_no_more(Rank rank) {
    if (has_taken_) return false;
    for (Call& call : calls_)
        if (call.rank == rank) call.waits = false;
    return true;
}

bool PartialRound::is_waiting(Rank rank) const {
    return std::any_of(calls_.begin(), calls_.end(),
                       [rank](const Call& call) { return call.rank == rank && call.waits; });
}

void PartialRound::hold(bool held) {
    held_ = held;
    if (!held) wake_.notify();
}

std::vector<Rank> PartialRound::awaited() const {
    if (!activation_.activated() || has_taken_) return {};
    std::vector<Rank> ranks = store_.awaited(plan_.round, plan_.staleness_max);
    std::erase_if(ranks, [this](Rank rank) {
        return is_waiting(rank) ||
               std::find(own_ranks().begin(), own_ranks().end(), rank) == own_ranks().end();
    });
    return ranks;
}

NodeView PartialRound::take() {
    NodeView view;
    if (store_.terms()) view.terms = digest_of(*store_.terms());
    for (const Rank rank : own_ranks()) {
        const uint32_t given = store_.staleness(rank, plan_.round).value_or(kNothing);
        view.given.push_back(given | (is_waiting(rank) ? kWaits : 0));
    }
    taken_ = store_.take(plan_.round, own_ranks());
    has_taken_ = true;
    settled_ = false;
    return view;
}

// The first node that knows the terms tells the nodes that do not.
Task<Result<>> PartialRound::share_terms(const std::vector<NodeView>& views) {
    const auto knows = [](const NodeView& view) { return view.terms != 0; };
    const auto teller =
        static_cast<size_t>(std::find_if(views.begin(), views.end(), knows) - views.begin());
    sharing_terms_ = true;
    Result<> shared;
    if (!store_.terms()) {
        shared = co_await hear_terms(teller);
    } else if (teller == plan_.group.self) {
        const std::vector<std::byte> bytes = write(*store_.terms());
        std::vector<Task<Result<>>> tellings;
        for (size_t node = 0; node < views.size(); ++node)
            if (!knows(views[node])) tellings.push_back(tell_terms(node, bytes));
        co_await base::when_all(std::move(tellings));
        shared = start_.status();
    }
    sharing_terms_ = false;
    co_return shared;
}

Task<Result<>> PartialRound::tell_terms(size_t node, std::span<const std::byte> bytes) {
    collectives::Operation sent;
    start_.post_send(sent, node, slot_of(Step::terms, 0), bytes);
    const Result<> result = co_await sent.ended();
    start_.note(result);
    co_return result;
}

Task<Result<>> PartialRound::hear_terms(size_t node) {
    std::vector<std::byte> bytes(kTermsBytes);
    collectives::Operation heard;
    start_.post_receive(heard, node, slot_of(Step::terms, 0), bytes);
    const Result<> result = co_await heard.ended();
    start_.note(result);
    if (!result) co_return start_.status();
    Result<Terms> terms = read_terms(bytes);
    if (!terms) co_return std::move(terms).error();
    store_.agree(std::move(*terms));
    co_return Result<>();
}

Task<Result<>> PartialRound::sum(const RoundOutcome& outcome, std::span<std::byte> result) {
    collectives::Group group = plan_.group;
    group.exchange = plan_.data_exchange;
    for (const Snapshot& snapshot : snapshots_of(plan_.roster, outcome))
        group.contributes.push_back(std::any_of(snapshot.begin(), snapshot.end(),
                                                [](uint32_t given) { return given != kNothing; }));
    if (outcome.contributors.empty()) {
        co_await in_strand(result.size(), result.size(), [result](size_t begin, size_t end) {
            std::fill(result.begin() + static_cast<ptrdiff_t>(begin),
                      result.begin() + static_cast<ptrdiff_t>(end), std::byte{0});
        });
        co_return Result<>();
    }
    // A node's part of a mean must not be infinite only because its workers' sum is (exchange.h:
    // make_room()).
    const double room =
        outcome.divisor > 1 ? static_cast<double>(std::bit_ceil(plan_.roster.largest_node())) : 1.0;
    std::vector<collectives::Member> members;
    for (const Taken& one : taken_) members.push_back({one.contribution.segments(), 1.0 / room});
    const collectives::LocalPart part(store_.layout(), std::move(members));
    if (group.nodes.size() == 1) {
        const double scale = room / outcome.divisor;
        co_await in_strand(
            (1 + part.members().size()) * result.size(), result.size(),
            [&part, scale, result](size_t begin, size_t end) {
                part.sum(collectives::ByteRange{begin, end}, scale, result.data() + begin);
            });
        co_return Result<>();
    }
    data_.emplace(transport_, std::move(group));
    co_return co_await collectives::all_reduce(*data_, part, room / outcome.divisor, result,
                                               plan_.options);
}

Task<> PartialRound::in_strand(size_t bytes, size_t size, kernels::WorkerPool::Work work) {
    base::OneShot<bool> ended;
    store_.strand().run(bytes, size, kernels::Aside::kGrainBytes, std::move(work),
                        [&ended](const Result<>&) { ended.set(true); });
    co_await ended;
}

void PartialRound::abort(const Error& error) {
    start_.abort(error);
    if (data_) data_->abort(error);
    wake_.notify();
}

void PartialRound::peer_lost(transports::PeerId peer, const Error& error) {
    start_.peer_lost(peer, error);
    if (data_) data_->peer_lost(peer, error);
    wake_.notify();
}

std::vector<size_t> PartialRound::waiting_for() const {
    if (data_)
        if (std::vector<size_t> nodes = data_->waiting_for(); !nodes.empty()) return nodes;
    // When the start is over, it waits for its last sends. Before, only the agreement's operations
    // may not be late.
    return start_.aborted() || sharing_terms_ ? start_.waiting_for() : agreement_.waiting_for();
}

base::TimePoint PartialRound::last_progress() const {
    return data_ ? std::max(start_.last_progress(), data_->last_progress())
                 : start_.last_progress();
}

collectives::Communicator::Counters PartialRound::traffic() const {
    collectives::Communicator::Counters counters = start_.counters();
    if (!data_) return counters;
    counters.messages_sent += data_->counters().messages_sent;
    counters.messages_received += data_->counters().messages_received;
    counters.bytes_sent += data_->counters().bytes_sent;
    counters.bytes_received += data_->counters().bytes_received;
    return counters;
}

Result<> PartialRound::settle(const RoundOutcome& outcome) {
    if (outcome.verdict != Verdict::sum && outcome.verdict != Verdict::disagree) return put_back();
    used_up();
    return {};
}

Result<> PartialRound::put_back() {
    if (std::exchange(settled_, true)) return {};
    std::erase_if(taken_, [this](const Taken& one) {
        return std::find(left_.begin(), left_.end(), one.rank) != left_.end();
    });
    return store_.put_back(plan_.round, std::exchange(taken_, {}));
}

void PartialRound::used_up() {
    settled_ = true;
    store_.recycle(std::exchange(taken_, {}));
}

}  // namespace pace::partial
