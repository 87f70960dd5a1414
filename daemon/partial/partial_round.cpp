#include "daemon/partial/partial_round.h"

#include <algorithm>
#include <utility>

#include "daemon/collectives/local_part.h"

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
    // There is nobody left to tell; only what nobody has memory for is lost.
    static_cast<void>(put_back());
}

Result<> PartialRound::check_plan(size_t result_bytes) const {
    if (plan_.roster.nodes.size() != plan_.group.nodes.size())
        return make_error(ErrorKind::invalid, "the roster has {} nodes, but the group {}",
                          plan_.roster.nodes.size(), plan_.group.nodes.size());
    if (plan_.roster.workers() == 0)
        return make_error(ErrorKind::invalid, "a round without workers never starts");
    if (plan_.data_exchange == plan_.group.exchange)
        return make_error(ErrorKind::invalid, "both exchanges have the number {:016x}",
                          plan_.data_exchange);
    if (result_bytes != store_.layout().bytes())
        return make_error(ErrorKind::invalid,
                          "the result has {} bytes, but the layout {}; allocate the latter",
                          result_bytes, store_.layout().bytes());
    return {};
}

Task<Result<RoundOutcome>> PartialRound::run(std::span<std::byte> result) {
    if (Result<> checked = check_plan(result.size()); !checked) {
        start_.abort(checked.error());
        co_return std::move(checked).error();
    }
    Result<RoundOutcome> outcome = co_await start_and_sum(result);
    // Others may be sending already, and a send ends only when its receiver takes or refuses it.
    if (!outcome && !data_) transport_.close_exchange(plan_.data_exchange);
    start_.abort(make_error(ErrorKind::closed, "the round has started everywhere"));
    arrivals_.stop();
    co_await arrivals_.ended();
    co_await activation_.ended();
    if (outcome) used_up();
    co_return outcome;
}

Task<Result<RoundOutcome>> PartialRound::start_and_sum(std::span<std::byte> result) {
    begin_start();
    while (!start_.aborted() && !activation_.activated()) co_await wake_.notified();
    arrivals_.stop();
    while (!start_.aborted() && !awaited().empty()) co_await wake_.notified();
    if (start_.aborted()) co_return start_.status().error();

    const Result<std::vector<Snapshot>> snapshots = co_await agreement_.run(take());
    if (!snapshots) co_return snapshots.error();
    // Everybody has begun: whoever still listens need not.
    start_.abort(make_error(ErrorKind::closed, "the round has started everywhere"));

    RoundOutcome outcome = outcome_of(plan_.roster, *snapshots, plan_.divide_by);
    if (Result<> summed = co_await sum(*snapshots, 1.0 / outcome.divisor, result); !summed)
        co_return std::move(summed).error();
    co_return outcome;
}

void PartialRound::begin_start() {
    activation_.listen();
    arrivals_.listen();
    listening_ = true;
    for (const Rank rank : arrived_) arrivals_.arrived(rank);
}

void PartialRound::arrived(Rank rank) {
    if (std::find(arrived_.begin(), arrived_.end(), rank) != arrived_.end()) return;
    const std::vector<Rank>& own = own_ranks();
    if (std::find(own.begin(), own.end(), rank) == own.end()) return;
    arrived_.push_back(rank);
    if (!listening_) return;
    if (!activation_.activated())
        arrivals_.arrived(rank);
    else
        wake_.notify();  // it may be the one that the round waits for
}

std::vector<Rank> PartialRound::awaited() const {
    if (!activation_.activated() || has_taken_) return {};
    std::vector<Rank> ranks = store_.awaited(plan_.round, plan_.staleness_max);
    std::erase_if(ranks, [this](Rank rank) {
        return std::find(own_ranks().begin(), own_ranks().end(), rank) == own_ranks().end();
    });
    return ranks;
}

Snapshot PartialRound::take() {
    Snapshot snapshot;
    for (const Rank rank : own_ranks())
        snapshot.push_back(store_.staleness(rank, plan_.round).value_or(kNothing));
    taken_ = store_.take(plan_.round, own_ranks());
    has_taken_ = true;
    settled_ = false;
    return snapshot;
}

Task<Result<>> PartialRound::sum(const std::vector<Snapshot>& snapshots, double scale,
                                 std::span<std::byte> result) {
    collectives::Group group = plan_.group;
    group.exchange = plan_.data_exchange;
    for (const Snapshot& snapshot : snapshots)
        group.contributes.push_back(std::any_of(snapshot.begin(), snapshot.end(),
                                                [](uint32_t given) { return given != kNothing; }));
    const bool any = std::find(group.contributes.begin(), group.contributes.end(), true) !=
                     group.contributes.end();
    if (!any) {
        std::fill(result.begin(), result.end(), std::byte{0});
        co_return Result<>();
    }
    std::vector<collectives::Member> members;
    for (const Taken& one : taken_) members.push_back({one.contribution.segments(), 1.0});
    const collectives::LocalPart part(store_.layout(), std::move(members));
    data_.emplace(transport_, std::move(group));
    co_return co_await collectives::all_reduce(*data_, part, scale, result, plan_.options);
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
    // Over, the start waits for its last sends; before, all but the agreement is patient.
    return start_.aborted() ? start_.waiting_for() : agreement_.waiting_for();
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

Result<> PartialRound::put_back() {
    if (std::exchange(settled_, true)) return {};
    return store_.put_back(plan_.round, std::exchange(taken_, {}));
}

void PartialRound::used_up() {
    settled_ = true;
    store_.recycle(std::exchange(taken_, {}));
}

}  // namespace pace::partial
