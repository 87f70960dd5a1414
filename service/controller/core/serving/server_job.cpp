#include "service/controller/core/serving/server_job.h"

#include <algorithm>
#include <utility>

#include "base/each_once.h"
#include "service/controller/core/members/views.h"
#include "service/controller/core/serving/server_options.h"
#include "service/controller/core/serving/shard_places.h"

namespace pace::controller {
ServerJob::ServerJob(JobId job, const JobOptions& options, uint64_t token, uint32_t life)
    : job_(job),
      name_(options.name),
      token_(token),
      life_(life),
      elements_(options.elements),
      shards_(options.shards),
      restores_(options.restore),
      order_(server_options_of(options)),
      checkpoints_(std::chrono::milliseconds(options.checkpoint_every_ms)) {}

// --------------------------------------------------------------------------------------- the order

// Before the first view, and while a node is awaited, nothing is ordered: daemons will repeat it.
bool ServerJob::hears(uint64_t generation) const {
    return generation == generation_ && !told_.empty() && !absent_until_;
}

void ServerJob::on_stored(const From<ServerStored>& event, TimePoint now) {
    if (!hears(event.generation)) return;
    model_made_ = true;
    order_.stored(event.rank, event.clock, now);
}

void ServerJob::on_asked(const From<ServerAsked>& event, TimePoint now) {
    if (!hears(event.generation)) return;
    model_made_ = true;
    order_.asked(event.rank, event.clock, event.own, {event.first, event.count}, now);
}

void ServerJob::on_assigned(const From<ServerAssigned>& event) {
    if (event.generation != generation_ || told_.empty()) return;
    order_.assign(event.round);
    lost_ = false;
    model_made_ = true;
}

void ServerJob::on_checkpoint_asked(const From<CheckpointAsked>& event) {
    if (hears(event.generation)) checkpoints_.ask(event.rank, event.own);
}

void ServerJob::on_saved(const From<ServerSaved>& event, const Turn& turn) {
    if (event.generation != generation_) return;
    auto ended = checkpoints_.saved(event, turn.now);
    if (!ended) return;
    if (!ended->failure.empty())
        turn.warn(
            "checkpoint-failed",
            fmt::format("job {}: the checkpoint at position {} failed, older ones are left as "
                        "they are: {}",
                        name_, ended->position, ended->failure),
            {name_});
    turn.tell_each(told_, std::move(*ended));
}

void ServerJob::look_at_checkpoints(TimePoint now) {
    if (!hears(generation_) || lost_ || !checkpoints_.is_due(order_, now)) return;
    checkpoints_.begin(order_.checkpoint(), places_.size(), order_, now);
}

std::optional<TimePoint> ServerJob::next_checkpoint() const {
    if (!hears(generation_) || lost_) return std::nullopt;
    return checkpoints_.next_due(order_);
}

void ServerJob::send(const Turn& turn) {
    if (told_.empty()) return;
    ServerOrder order;
    order_.take(order.entries);
    if (order.entries.empty()) return;
    remember(order.entries);
    order.job = job_;
    order.generation = generation_;
    turn.tell_each(told_, std::move(order));
}

void ServerJob::remember(const std::vector<ServerEntry>& entries) {
    recent_.insert(recent_.end(), entries.begin(), entries.end());
    while (recent_.size() > kRecentMax) recent_.pop_front();
}

// ------------------------------------------------------------------------------------------- views

const ServerReport* ServerJob::farthest_report() const {
    const ServerReport* farthest = nullptr;
    const auto less = [](const ServerReport& a, const ServerReport& b) {
        return std::pair(a.generation, a.ledger.position) <
               std::pair(b.generation, b.ledger.position);
    };
    for (const auto& [node, report] : reports_)
        if (farthest == nullptr || less(*farthest, report)) farthest = &report;
    return farthest;
}

// A node that has received the order up to `from`, or further, can be told the rest.
ServerJob::Shard ServerJob::look_for(size_t shard, NodeId node, uint64_t generation,
                                     uint64_t from) const {
    const auto found = reports_.find(node);
    if (found == reports_.end()) return Shard::absent;
    const ServerReport& report = found->second;
    const bool has_it =
        std::find(report.shards.begin(), report.shards.end(), shard) != report.shards.end();
    const bool knows = report.generation == generation && report.ledger.position >= from;
    return has_it && knows ? Shard::kept : Shard::lost;
}

// A node is absent. True as long as it may return.
bool ServerJob::may_wait(Duration patience, const Turn& turn) {
    if (!absent_until_) {
        absent_until_ = turn.now + patience;
        turn.warn("model-waits",
                  fmt::format("job {}: a node that keeps a part of its model is gone; pushes and "
                              "pulls wait until it is back, for at most {:.1f} s",
                              name_, base::to_seconds(patience)),
                  {name_});
    }
    return turn.now < *absent_until_;
}

// Takes up the model from the nodes' reports after the controller has lost its state. False if this
// is too early, since an absent node may know more of the order.
bool ServerJob::take_up(Duration patience, const Turn& turn) {
    const ServerReport* farthest = farthest_report();
    if (farthest == nullptr || farthest->generation == 0) return true;
    const std::vector<NodeId>& places = farthest->places;
    const bool all_here = std::all_of(places.begin(), places.end(),
                                      [this](NodeId node) { return reports_.contains(node); });
    if (!all_here && may_wait(patience, turn)) return false;
    generation_ = farthest->generation;
    places_ = places;
    order_.restore(farthest->ledger, turn.now);
    order_.forget_missing(turn.now);
    lost_ = farthest->model_lost;
    recent_.assign(farthest->tail.begin(), farthest->tail.end());
    return true;
}

std::optional<std::set<Rank>> ServerJob::ranks_to_take_up() const {
    if (generation_ != 0) return std::nullopt;
    const ServerReport* farthest = farthest_report();
    if (farthest == nullptr || farthest->generation == 0) return std::nullopt;
    std::set<Rank> ranks;
    for (const ServerClock& worker : farthest->ledger.workers) ranks.insert(worker.rank);
    return ranks;
}

ServerJob::Missing ServerJob::look() const {
    const uint64_t from = recent_.empty() ? order_.position() : recent_.front().position - 1;
    Missing missing;
    for (size_t shard = 0; shard < places_.size(); ++shard) {
        const Shard found = look_for(shard, places_[shard], generation_, from);
        missing.absent = missing.absent || found == Shard::absent;
        missing.lost = missing.lost || found == Shard::lost;
    }
    return missing;
}

// Entries that are not sent yet are sent to nobody: they are in the ledger.
void ServerJob::close_order(const Turn& turn) {
    send(turn);
    checkpoints_.abandon();
    order_.forget_assigned();
    std::vector<ServerEntry> untold;
    order_.take(untold);
    remember(untold);
}

// Nullopt: there is no view yet. A node that lost its part must not begin with nothing.
std::optional<ServerJob::Fate> ServerJob::decide(const Missing& missing, Duration patience,
                                                 const Turn& turn) {
    const bool begins = places_.empty();
    const bool may_need = begins ? restores_ || missing.lost : missing.any() || lost_;
    const auto newest = may_need ? newest_saved(reports_, restores_ ? 0 : token_) : std::nullopt;
    // A model lost before may be on a disk that has come back.
    const bool may_go_back = begins ? restores_ || missing.lost : missing.lost || lost_;
    const bool helped = may_go_back && newest;
    // A part of a checkpoint may also be on a node that comes back.
    const bool may_come = missing.lost ? saves() : missing.absent;
    const bool waits = may_come && !helped && may_wait(patience, turn);
    if (waits && missing.lost) return std::nullopt;
    const bool lost = missing.any() && !waits;
    return Fate{.lost = lost, .saved = helped || lost ? newest : std::nullopt};
}

void ServerJob::commit(To<CommitView>& commit, Duration patience, const Turn& turn) {
    if (generation_ == 0 && !take_up(patience, turn)) return;
    close_order(turn);
    const bool begins = places_.empty();
    // There was a model, but no present node knows of it.
    const bool forgotten = begins && under_way_;
    const Missing missing = begins ? Missing{.lost = forgotten} : look();
    const std::optional<Fate> fate = decide(missing, patience, turn);
    if (!fate) return;
    const auto& [lost, saved] = *fate;
    if (!missing.any()) {
        absent_until_.reset();
        announced_.clear();
    }
    for (NodeId& node : places_)
        if (lost && !reports_.contains(node)) node = 0;
    std::vector<NodeId> nodes = forgotten ? reporting_nodes() : nodes_of(commit.members);
    for (const NodeId node : places_)
        if (reports_.contains(node)) nodes.push_back(node);
    base::sort_each_once(nodes);
    if (nodes.empty()) {
        absent_until_.reset();  // nobody waits
        return;
    }
    if (begins) places_.assign(shards_ != 0 ? shards_ : std::min(nodes.size(), elements_), 0);
    if (begins || lost || saved) {
        commit.model_begins = true;
        if (saved) commit.saved_generation = saved->generation;
        nodes = begin_generation(saved, std::move(nodes));
    }
    if (begins) checkpoints_.start(turn.now);
    if (lost || saved) lost_ = !saved;
    model_made_ = model_made_ || saved;
    if (lost || (saved && !begins)) warn_of_loss(saved, turn);
    if (begins && restores_ && !saved) warn_of_no_checkpoint(turn);
    told_ = std::move(nodes);
    tell(commit);
}

// Whether checkpoints are made.
bool ServerJob::saves() const {
    return checkpoints_.at_interval() || checkpoints_.last() ||
           std::any_of(reports_.begin(), reports_.end(),
                       [](const auto& entry) { return !entry.second.saved.empty(); });
}

std::vector<NodeId> ServerJob::reporting_nodes() const {
    std::vector<NodeId> nodes;
    for (const auto& [node, report] : reports_) nodes.push_back(node);
    return nodes;
}

// The new number is above all generations of which a node has data in memory or on disk, so that
// later checkpoints are the newest.
void ServerJob::begin_anew() {
    constexpr uint32_t kLifeBits = 32;
    uint64_t newest = std::max(generation_, newest_generation(reports_));
    for (const auto& [node, report] : reports_) newest = std::max(newest, report.generation);
    generation_ = ((newest >> kLifeBits) + 1) << kLifeBits | life_;
    absent_until_.reset();
    announced_.clear();
    recent_.clear();
    order_.begin_anew();
}

// Begins another generation of the model, with the checkpoint if there is one. Returns the view's
// nodes: `nodes`, and those that keep the checkpoint.
std::vector<NodeId> ServerJob::begin_generation(const std::optional<SavedSet>& saved,
                                                std::vector<NodeId> nodes) {
    begin_anew();
    if (!saved) {
        places_ = place_shards(token_, places_, nodes);
        return nodes;
    }
    go_back_to(*saved);
    nodes.insert(nodes.end(), places_.begin(), places_.end());
    base::sort_each_once(nodes);
    return nodes;
}

void ServerJob::go_back_to(const SavedSet& saved) {
    places_ = place_saved(saved, places_);
    order_.roll_back(saved.ledger);
}

void ServerJob::warn_of_loss(const std::optional<SavedSet>& saved, const Turn& turn) const {
    if (saved) {
        turn.warn("model-restored",
                  fmt::format("job {}: nobody had all of its model any more; it is that of the "
                              "checkpoint at position {} again",
                              name_, saved->ledger.position),
                  {name_});
        return;
    }
    turn.warn("model-lost",
              fmt::format("job {}: nobody has all of its model any more, and there is no whole "
                          "checkpoint on the nodes that are here; it waits for a pace_broadcast",
                          name_),
              {name_});
}

// Nodes that keep shards of an obsolete model are told once, and forget the shards.
void ServerJob::tell(To<CommitView>& commit) {
    commit.to.insert(commit.to.end(), told_.begin(), told_.end());
    for (const auto& [node, report] : reports_)
        if (!report.shards.empty()) commit.to.push_back(node);
    base::sort_each_once(commit.to);
    commit.shards = places_;
    commit.generation = generation_;
    commit.ledger = order_.ledger();
    commit.model_lost = lost_;
    uint64_t heard_by_all = commit.ledger.position;
    for (const auto& [node, report] : reports_)
        if (report.generation == generation_ && !report.shards.empty())
            heard_by_all = std::min(heard_by_all, report.ledger.position);
    for (const ServerEntry& entry : recent_)
        if (entry.position > heard_by_all) commit.missed.push_back(entry);
}

void ServerJob::warn_of_no_checkpoint(const Turn& turn) const {
    const bool any = std::any_of(reports_.begin(), reports_.end(),
                                 [](const auto& entry) { return !entry.second.saved.empty(); });
    turn.warn("nothing-to-restore",
              fmt::format("job {}: it was to begin with a checkpoint (restore), but {}; it begins "
                          "with a model of zeros at step 0",
                          name_,
                          any ? "of none are all parts on the nodes that are here"
                              : "its nodes have none of this user and name"),
              {name_});
}

void ServerJob::on_node_lost(NodeId node) {
    announced_.erase(node);
    std::erase(told_, node);
}

bool ServerJob::is_host(NodeId node) const {
    return std::find(places_.begin(), places_.end(), node) != places_.end();
}

// An awaited node requires a view; a known one is no news.
bool ServerJob::announce(NodeId node) {
    if (is_host(node) && !absent_until_) return false;
    return announced_.insert(node).second;
}

std::vector<NodeId> ServerJob::hosts() const {
    std::vector<NodeId> nodes = places_;
    nodes.insert(nodes.end(), announced_.begin(), announced_.end());
    base::sort_each_once(nodes);
    return nodes;
}

}  // namespace pace::controller
