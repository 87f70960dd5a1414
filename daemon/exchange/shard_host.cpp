#include "daemon/exchange/shard_host.h"

#include <algorithm>
#include <utility>

#include "daemon/exchange/memory_room.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

namespace {

// Entries that nodes may have heard and others not, when a controller dies between telling one and the next, or a node is cut off from
// it: as many as the controller keeps.
constexpr size_t kTailMax = 1024;

}  // namespace

Result<std::vector<control::ServerEntry>> ShardHost::commit(const control::CommitView& view,
                                                            control::NodeId self) {
    std::vector<control::ServerEntry> heard;
    PACE_TRY(check_shards(view, self));
    if (view.generation != generation_) {
        PACE_TRY(begin_anew(view, self));
        return heard;
    }
    places_ = view.shards;
    if (shards_.empty()) {
        // Nothing to act upon: it goes on from where the others are, and has heard what the view says of the way there.
        for (const control::ServerEntry& entry : view.missed)
            if (entry.position > ledger_.position) heard.push_back(entry);
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

// It may have lost them between saying that it has them and the view that counts upon that.
Result<> ShardHost::check_shards(const control::CommitView& view, control::NodeId self) const {
    if (view.model_begins) return {};
    for (uint32_t shard = 0; shard < view.shards.size(); ++shard) {
        if (view.shards[shard] != self) continue;
        if (view.generation == generation_ && keeps(shard)) continue;
        return base::make_error(ErrorKind::internal,
                                "this node is to keep shard {} of a model that is at position {}, "
                                "and has it not",
                                shard, view.ledger.position);
    }
    return {};
}

// What somebody else sizes: there must be room for it, in its user's account and on this node, before it is made.
Result<> ShardHost::make_shard(uint32_t shard) {
    const size_t count = partition().range(shard).size();
    const uint64_t bytes = uint64_t{count} * sizeof(float);
    PACE_TRY_ASSIGN(charge, payer_.charge(bytes, "a shard of a model"));
    PACE_TRY(check_memory_room("a shard of a model", bytes, memory_room()));
    PACE_TRY_ASSIGN(made, server::Shard::create(count));
    if (unsynchronized_) made.let_updates_be_late();
    shards_.insert_or_assign(shard, std::move(made));
    paid_.push_back(std::move(charge));
    return {};
}

Result<> ShardHost::begin_anew(const control::CommitView& view, control::NodeId self) {
    forget();
    generation_ = view.generation;
    places_ = view.shards;
    ledger_ = server::ledger_of(view.ledger);
    for (uint32_t shard = 0; shard < places_.size(); ++shard) {
        if (places_[shard] != self) continue;
        PACE_TRY(make_shard(shard));
        if (view.saved_generation == 0) continue;
        loading_[shard] = ledger_.versions;
        hooks_.load(shard, view.saved_generation, ledger_.position);
    }
    return {};
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
    paid_.clear();
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
