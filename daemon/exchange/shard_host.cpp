#include "daemon/exchange/shard_host.h"

#include <algorithm>
#include <utility>

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// Entries that nodes may have heard and others not, when a controller dies between telling one and the next: those of a moment.
constexpr size_t kTailMax = 256;

}  // namespace

Result<std::vector<control::ServerEntry>> ShardHost::commit(const control::CommitView& view,
                                                            control::NodeId self) {
    std::vector<control::ServerEntry> heard;
    if (view.generation != generation_) {
        begin_anew(view, self);
        return heard;
    }
    places_ = view.shards;
    if (shards_.empty()) {
        // Nothing to act upon: it goes on from where the others are.
        if (ledger_.position != view.ledger.position) tail_.clear();
        ledger_ = server::ledger_of(view.ledger);
        to_act_.clear();
        return heard;
    }
    PACE_TRY(hear(view.missed, heard));
    if (ledger_.position == view.ledger.position) return heard;
    return base::make_error(ErrorKind::internal,
                            "this node has heard the order up to position {}, the view begins at "
                            "{}",
                            ledger_.position, view.ledger.position);
}

void ShardHost::begin_anew(const control::CommitView& view, control::NodeId self) {
    forget();
    generation_ = view.generation;
    places_ = view.shards;
    ledger_ = server::ledger_of(view.ledger);
    for (uint32_t shard = 0; shard < places_.size(); ++shard) {
        if (places_[shard] != self) continue;
        server::Shard& own =
            shards_.try_emplace(shard, partition().range(shard).size()).first->second;
        if (unsynchronized_) own.let_updates_be_late();
        if (view.saved_generation == 0) continue;
        loading_[shard] = ledger_.versions;
        hooks_.load(shard, view.saved_generation, ledger_.position);
    }
}

Result<> ShardHost::loaded(uint32_t shard, server::Shard saved) {
    const auto loading = loading_.find(shard);
    if (loading == loading_.end()) return {};
    shards_.at(shard).restore(std::move(saved), loading->second);
    loading_.erase(loading);
    return act();
}

void ShardHost::forget() {
    generation_ = 0;
    places_.clear();
    shards_.clear();
    loading_.clear();
    ledger_ = {};
    to_act_.clear();
    to_save_.clear();
    tail_.clear();
}

Result<> ShardHost::hear(const std::vector<control::ServerEntry>& entries,
                         std::vector<control::ServerEntry>& ret_heard) {
    for (const control::ServerEntry& entry : entries) {
        if (entry.position <= ledger_.position) continue;
        if (entry.position != ledger_.position + 1)
            return base::make_error(ErrorKind::internal,
                                    "the order goes on at position {} after {}", entry.position,
                                    ledger_.position);
        const server::Entry own = server::entry_of(entry);
        ledger_.add(own);
        if (keeps_any()) {
            to_act_.push_back(own);
            if (own.step == server::Step::checkpoint) to_save_[own.position] = ledger_;
        }
        tail_.push_back(entry);
        if (tail_.size() > kTailMax) tail_.pop_front();
        ret_heard.push_back(entry);
    }
    return act();
}

Result<> ShardHost::act() {
    while (loading_.empty() && !to_act_.empty()) {
        const server::Entry entry = to_act_.front();
        PACE_TRY_ASSIGN(done, act(entry));
        if (!done) return {};
        to_act_.pop_front();
        if (entry.step == server::Step::pull) serve(entry);
        if (entry.step == server::Step::checkpoint) save(entry.position);
    }
    return {};
}

// False: it has to wait.
Result<bool> ShardHost::act(const server::Entry& entry) {
    if (entry.step == server::Step::assign)
        for (const auto& [number, shard] : shards_)
            if (!shard.holds_model(entry.clock)) return false;
    for (auto& [number, shard] : shards_) PACE_TRY(shard.act(entry));
    return true;
}

void ShardHost::save(uint64_t position) {
    const auto ledger = to_save_.find(position);
    for (auto& [number, shard] : shards_) {
        shard.settle();
        hooks_.save(number, shard, ledger->second);
    }
    to_save_.erase(ledger);
}

void ShardHost::serve(const server::Entry& entry) {
    for (auto& [number, shard] : shards_) {
        const server::Range range = partition().range(number);
        const uint64_t begin = std::max<uint64_t>(range.begin, entry.first);
        const uint64_t end = std::min<uint64_t>(range.end, entry.first + entry.count);
        if (begin >= end) continue;
        shard.settle();
        Part part{number, entry.rank, entry.clock, entry.position, entry.slowest, {}};
        part.elements.resize(end - begin);
        shard.read(begin - range.begin, part.elements);
        hooks_.pulled(std::move(part));
    }
}

Result<> ShardHost::hold_model(uint32_t shard, uint64_t round, std::vector<float> model) {
    shards_.at(shard).hold_model(round, std::move(model));
    return act();
}

control::ServerReport ShardHost::report() const {
    control::ServerReport report;
    report.generation = generation_;
    report.places = places_;
    for (const auto& [number, shard] : shards_) report.shards.push_back(number);
    report.ledger = server::tell<control::ServerLedger>(ledger_);
    report.tail.assign(tail_.begin(), tail_.end());
    return report;
}

}  // namespace pace::daemon
