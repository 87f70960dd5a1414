#include "service/controller/core/server_job.h"

#include <algorithm>
#include <utility>

#include "service/controller/core/server_options.h"
#include "service/controller/core/shard_places.h"
#include "service/controller/core/views.h"

namespace pace::controller {

ServerJob::ServerJob(JobId job, const JobOptions& options, uint64_t token)
    : job_(job), token_(token), shards_(options.shards), order_(server_options_of(options)) {}

// Before the first view nothing is ordered: it would be said again.
void ServerJob::on_stored(const ServerStored& event, TimePoint now) {
    if (event.generation == generation_ && !told_.empty())
        order_.stored(event.rank, event.clock, now);
}

void ServerJob::on_asked(const ServerAsked& event, TimePoint now) {
    if (event.generation == generation_ && !told_.empty())
        order_.asked(event.rank, event.clock, event.own, {event.first, event.count}, now);
}

void ServerJob::on_assigned(const ServerAssigned& event) {
    if (event.generation == generation_ && !told_.empty()) order_.assign(event.round);
}

void ServerJob::send(const Turn& turn) {
    if (told_.empty()) return;
    entries_.clear();
    order_.take(entries_);
    if (entries_.empty()) return;
    ServerOrder order;
    order.nodes = told_;
    order.job = job_;
    order.generation = generation_;
    order.entries = std::exchange(entries_, {});
    turn.act(std::move(order));
}

// The controller has forgotten, or begins: what the nodes know counts.
void ServerJob::take_up() {
    const ServerReport* farthest = nullptr;
    const auto less = [](const ServerReport& a, const ServerReport& b) {
        return std::pair(a.generation, a.ledger.position) <
               std::pair(b.generation, b.ledger.position);
    };
    for (const auto& [node, report] : reports_)
        if (farthest == nullptr || less(*farthest, report)) farthest = &report;
    if (farthest == nullptr || farthest->generation == 0) return;
    generation_ = farthest->generation;
    order_.restore(farthest->ledger);
    places_.assign(farthest->shards_in_all, 0);
    missed_ = farthest->tail;
    const uint64_t catches_up_from =
        missed_.empty() ? order_.position() : missed_.front().position - 1;
    for (const auto& [node, report] : reports_) {
        if (report.generation != generation_ || report.ledger.position < catches_up_from) continue;
        for (const uint32_t shard : report.shards)
            if (shard < places_.size()) places_[shard] = node;
    }
}

bool ServerJob::is_kept(size_t shard) const {
    const auto report = reports_.find(places_[shard]);
    if (report == reports_.end() || report->second.generation != generation_) return false;
    const std::vector<uint32_t>& kept = report->second.shards;
    return std::find(kept.begin(), kept.end(), shard) != kept.end();
}

void ServerJob::commit(CommitView& commit, const std::string& name, const Turn& turn) {
    if (generation_ == 0) take_up();
    std::vector<NodeId> nodes = nodes_of(commit.members);
    const bool begins = places_.empty();
    if (begins) places_.assign(shards_ == 0 ? nodes.size() : shards_, 0);
    bool lost = false;
    for (size_t shard = 0; shard < places_.size(); ++shard) {
        if (!begins && !is_kept(shard)) {
            lost = true;
            places_[shard] = 0;
        }
        if (places_[shard] != 0) nodes.push_back(places_[shard]);
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    if (nodes.empty()) return;
    places_ = place_shards(token_, places_, nodes);
    if (begins || lost) {
        ++generation_;
        order_.begin_anew();
    }
    if (lost)
        turn.warn("model-lost",
                  fmt::format("job {}: nobody has all of its model any more; it waits for a "
                              "pace_broadcast",
                              name));
    send(turn);
    entries_.clear();
    order_.take(entries_);  // without anybody to be told: it is in the ledger
    told_ = nodes;
    commit.nodes.insert(commit.nodes.end(), nodes.begin(), nodes.end());
    std::sort(commit.nodes.begin(), commit.nodes.end());
    commit.nodes.erase(std::unique(commit.nodes.begin(), commit.nodes.end()), commit.nodes.end());
    commit.shards = places_;
    commit.generation = generation_;
    commit.ledger = order_.ledger();
    commit.missed = std::exchange(missed_, {});
    commit.model_lost = lost;
}

bool ServerJob::is_host(NodeId node) const {
    return std::find(places_.begin(), places_.end(), node) != places_.end();
}

std::vector<NodeId> ServerJob::hosts() const {
    std::vector<NodeId> nodes = places_;
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
}

}  // namespace pace::controller
