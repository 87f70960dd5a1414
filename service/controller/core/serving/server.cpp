#include "service/controller/core/serving/server.h"

#include <algorithm>
#include <utility>

namespace pace::controller {

Server::Server(const ServerOptions& options)
    : options_(options), rule_(make_rate_rule(options.rate, options.constant)) {}

// ----------------------------------------------------------------------------------------- members

void Server::add_member(Rank rank) {
    if (clocks_.find(rank) != nullptr) return;
    const auto known = known_.find(rank);
    if (known == known_.end()) {
        clocks_.add(rank);
    } else {
        clocks_.add(rank, known->second);
        known_.erase(known);
    }
    order(ServerStep::join, rank, 0);
}

void Server::add_newcomer(Rank rank) {
    if (clocks_.find(rank) == nullptr) newcomers_.insert(rank);
    add_member(rank);
}

void Server::remove_member(Rank rank, TimePoint now) {
    if (clocks_.find(rank) == nullptr) return;
    newcomers_.erase(rank);
    waiting_.erase(rank);
    ServerEntry& entry = order(ServerStep::leave, rank, 0);
    clocks_.remove(rank);
    evict(entry);
    look_again(now);
}

// ------------------------------------------------------------------------------- pushes and pulls

void Server::assign(uint64_t round) {
    if (assigned_ && round <= *assigned_) return;
    assigned_ = round;
    versions_.clear();
    order(ServerStep::assign, kNoRank, round);
}

void Server::stored(Rank rank, uint64_t clock, TimePoint now) {
    const ServerClocks::Worker* worker = clocks_.find(rank);
    if (worker == nullptr || clock < worker->clock) return;
    const uint64_t newer = std::max(clocks_.fastest(), worker->version) - worker->version;
    ++statistics_.staleness[std::min<uint64_t>(newer, statistics_.staleness.size() - 1)];

    const uint64_t version = rule_->map(clocks_, rank);
    const uint64_t updates = ++versions_[version];
    clocks_.pushed(rank, clock);
    ServerEntry& entry = order(ServerStep::push, rank, clock);
    entry.version = version;
    entry.rate = rule_->update(updates);
    evict(entry);
    look_again(now);
}

void Server::asked(Rank rank, uint64_t clock, uint64_t own, Range range, TimePoint now) {
    if (clocks_.find(rank) == nullptr) return;
    const Pull pull{clock, own, range, ++asked_, now};
    waiting_.erase(rank);
    if (is_allowed(rank, pull)) return serve(rank, pull, now);
    waiting_.emplace(rank, pull);
}

bool Server::withdraw(Rank rank) {
    return waiting_.erase(rank) != 0;
}

// Algorithm 2, line 17.
bool Server::is_allowed(Rank rank, const Pull& pull) const {
    const ServerClocks::Worker* worker = clocks_.find(rank);
    if (worker == nullptr || worker->clock < pull.own) return false;
    return !options_.staleness || pull.clock <= clocks_.slowest() ||
           pull.clock - clocks_.slowest() <= *options_.staleness;
}

void Server::serve(Rank rank, const Pull& pull, TimePoint now) {
    ++statistics_.pulls;
    if (now > pull.asked) {
        ++statistics_.waited;
        const double waited_s = base::to_seconds(now - pull.asked);
        statistics_.waited_total_s += waited_s;
        statistics_.waited_by[rank] += waited_s;
    }
    clocks_.pulled(rank, pull.clock);
    ServerEntry& entry = order(ServerStep::pull, rank, pull.clock);
    entry.first = pull.range.first;
    entry.count = pull.range.count;
    evict(entry);
}

// Serving a pull changes no clock, so one pass is enough.
void Server::look_again(TimePoint now) {
    std::vector<std::pair<uint64_t, Rank>> due;
    for (const auto& [rank, pull] : waiting_)
        if (is_allowed(rank, pull)) due.emplace_back(pull.number, rank);
    std::sort(due.begin(), due.end());
    for (const auto& [number, rank] : due) {
        const Pull pull = waiting_.at(rank);
        waiting_.erase(rank);
        serve(rank, pull, now);
    }
}

// --------------------------------------------------------------------------------------- the order

ServerEntry& Server::order(ServerStep step, Rank rank, uint64_t clock) {
    ServerEntry entry;
    entry.position = ++position_;
    entry.step = step;
    entry.clock = clock;
    entry.slowest = clocks_.slowest();
    if (const ServerClocks::Worker* worker = clocks_.find(rank))
        entry.worker = {rank, worker->clock, worker->version, worker->prefetched};
    ordered_.push_back(std::move(entry));
    return ordered_.back();
}

// Algorithm 2, lines 10 and 11.
void Server::evict(ServerEntry& entry) {
    entry.slowest = clocks_.slowest();
    while (!versions_.empty() && rule_->expire(clocks_, versions_.begin()->first)) {
        entry.expired.push_back(versions_.begin()->first);
        versions_.erase(versions_.begin());
    }
}

void Server::take(std::vector<ServerEntry>& ret_entries) {
    std::move(ordered_.begin(), ordered_.end(), std::back_inserter(ret_entries));
    ordered_.clear();
}

// ---------------------------------------------------------------------------------------- restarts

ServerLedger Server::ledger() const {
    ServerLedger ledger;
    ledger.position = position_;
    ledger.fastest = clocks_.fastest();
    ledger.pushes = clocks_.pushes();
    std::map<Rank, ServerClocks::Worker> workers = clocks_.workers();
    workers.insert(known_.begin(), known_.end());
    for (const auto& [rank, worker] : workers)
        ledger.workers.push_back({rank, worker.clock, worker.version, worker.prefetched});
    for (const auto& [version, updates] : versions_) ledger.versions.push_back({version, updates});
    return ledger;
}

void Server::restore(const ServerLedger& ledger, TimePoint now) {
    ordered_.clear();
    position_ = ledger.position;
    take_up_versions(ledger);
    const std::map<Rank, ServerClocks::Worker> members = clocks_.workers();
    clocks_ = ServerClocks();
    clocks_.restore(ledger.fastest, ledger.pushes);
    std::vector<Rank> replaced;
    for (const ServerClock& worker : ledger.workers) {
        const ServerClocks::Worker state{worker.clock, worker.version, worker.prefetched};
        if (members.contains(worker.rank)) {
            clocks_.add(worker.rank, state);
            if (newcomers_.contains(worker.rank)) replaced.push_back(worker.rank);
        } else {
            known_[worker.rank] = state;
        }
    }
    for (const Rank rank : replaced) remove_member(rank, now);
    // They begin at the slowest clock of the ledger, not at that of an empty order.
    for (const auto& [rank, worker] : members) add_member(rank);
    newcomers_.clear();
}

void Server::forget_missing(TimePoint now) {
    const auto missing = std::exchange(known_, {});
    for (const auto& [rank, worker] : missing) clocks_.add(rank, worker);
    for (const auto& [rank, worker] : missing) remove_member(rank, now);
}

void Server::take_up_versions(const ServerLedger& ledger) {
    versions_.clear();
    for (const ServerVersion& version : ledger.versions)
        versions_[version.version] = version.updates;
}

void Server::begin_anew() {
    versions_.clear();
    waiting_.clear();
    assigned_.reset();
}

void Server::roll_back(const ServerLedger& ledger) {
    begin_anew();
    ordered_.clear();
    known_.clear();
    position_ = ledger.position;
    const std::map<Rank, ServerClocks::Worker> members = clocks_.workers();
    clocks_ = ServerClocks();
    clocks_.restore(ledger.fastest, ledger.pushes);
    take_up_versions(ledger);
    for (const ServerClock& worker : ledger.workers)
        if (members.contains(worker.rank))
            clocks_.add(worker.rank, {worker.clock, worker.version, worker.prefetched});
    for (const auto& [rank, worker] : members) clocks_.add(rank);
    // Expires versions whose workers have left since. No daemon needs to be told: the ledger lists
    // the versions that are left.
    ServerEntry nothing;
    evict(nothing);
}

bool Server::holds_up(Rank rank) const {
    const ServerClocks::Worker* worker = clocks_.find(rank);
    if (worker == nullptr || !options_.staleness || worker->clock != clocks_.slowest())
        return false;
    return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& entry) {
        return entry.second.clock > worker->clock + *options_.staleness;
    });
}

std::optional<Server::HeldUp> Server::held_up() const {
    if (!options_.staleness) return std::nullopt;
    HeldUp held;
    uint64_t furthest = 0;
    for (const auto& [rank, pull] : waiting_) {
        if (pull.clock <= clocks_.slowest() + *options_.staleness) continue;
        if (held.waiting.empty() || pull.asked < held.since) held.since = pull.asked;
        held.waiting.push_back(rank);
        furthest = std::max(furthest, pull.clock);
    }
    for (const auto& [rank, worker] : clocks_.workers())
        if (worker.clock + *options_.staleness < furthest) held.slow.push_back(rank);
    if (held.waiting.empty()) return std::nullopt;
    return held;
}

}  // namespace pace::controller
