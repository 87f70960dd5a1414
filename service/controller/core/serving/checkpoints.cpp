#include "service/controller/core/serving/checkpoints.h"

#include <algorithm>
#include <utility>

namespace pace::controller {
namespace {

bool has_made(const Server& order, Rank rank, uint64_t own) {
    const ServerClocks::Worker* worker = order.clocks().find(rank);
    return worker != nullptr && worker->clock >= own;
}

}  // namespace

// Counts pushes only: an assigned model is a change too, but its trainers still have it.
bool Checkpoints::has_changed(const Server& order) const {
    return order.clocks().pushes() != pushes_;
}

bool Checkpoints::is_due(const Server& order, TimePoint now) const {
    if (saving_) return false;
    const auto due = next_due(order);
    return (due && now >= *due) ||
           std::any_of(asked_.begin(), asked_.end(), [&order](const auto& asked) {
               return has_made(order, asked.first, asked.second);
           });
}

std::optional<TimePoint> Checkpoints::next_due(const Server& order) const {
    if (saving_ || !at_interval() || !has_changed(order)) return std::nullopt;
    return began_ + every_;
}

void Checkpoints::begin(uint64_t position, size_t shards, const Server& order, TimePoint now) {
    OpenCheckpoint& saving = saving_.emplace();
    saving.position = position;
    for (uint32_t shard = 0; shard < shards; ++shard) saving.missing.insert(shard);
    for (auto asked = asked_.begin(); asked != asked_.end();) {
        const auto [rank, own] = *asked;
        if (has_made(order, rank, own)) {
            saving.answers.push_back({rank, own});
            asked = asked_.erase(asked);
        } else {
            ++asked;
        }
    }
    began_ = now;
    pushes_ = order.clocks().pushes();
}

std::optional<CheckpointEnded> Checkpoints::saved(const From<ServerSaved>& event, TimePoint now) {
    if (!saving_ || saving_->position != event.position) return std::nullopt;
    saving_->missing.erase(event.shard);
    if (event.failure.empty() && !saving_->missing.empty()) return std::nullopt;
    failure_ = event.failure;
    if (failure_.empty()) {
        last_ = {event.position, now};
    } else {
        pushes_ = 0;
    }
    CheckpointEnded ended;
    ended.job = event.job;
    ended.generation = event.generation;
    ended.position = event.position;
    ended.failure = event.failure;
    ended.answers = std::move(saving_->answers);
    saving_.reset();
    return ended;
}

void Checkpoints::abandon() {
    if (saving_) pushes_ = 0;
    saving_.reset();
    asked_.clear();
}

}  // namespace pace::controller
