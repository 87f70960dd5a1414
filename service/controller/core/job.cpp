#include "service/controller/core/job.h"

#include <algorithm>

#include "service/controller/core/options.h"

namespace pace::controller {

Job::Job(JobId id, JobOptions options, uint32_t uid, uint64_t token, Cluster& cluster)
    : id_(id),
      options_(std::move(options)),
      uid_(uid),
      token_(token),
      cluster_(cluster),
      views_(id, token, is_top_k(options_.compression)) {}

// Allocates memory proportional to the world. A job that nobody joins uses none.
void Job::furnish() {
    if (!workers_.empty()) return;
    workers_.resize(options_.world);
    if (forms_groups(options_.policy))
        groups_ = std::make_unique<Groups>(id_, options_, token_, workers_, cluster_,
                                           [this](NodeId node) { return zone_of(node); });
    if (options_.policy == Policy::prague_static)
        reported_ = std::make_unique<ReportedGroups>(options_, workers_, cluster_);
    if (family_of(options_.policy) == Family::server)
        server_ = std::make_unique<ServerJob>(id_, options_, token_, cluster_.life);
}

// -------------------------------------------------------------------------------- coming and going

// Whether a member is back that its daemon announces again. Either the journal has the member, at
// the same node, or the journal lacks it, and its daemon was in a view that the journal does not
// know.
bool Job::is_member_back(const From<WorkerJoin>& event) const {
    const Worker& worker = workers_[event.rank];
    if (!event.resume || !gathering_) return false;
    if (worker.state == WorkerState::lost) return event.epoch > journal_epoch_;
    if (worker.state != WorkerState::missing) return false;
    // A worker that was in no view has no model of the job yet, though the journal has its place.
    if (is_started() && event.epoch == 0) return false;
    return worker.node == 0 ? event.epoch > 0 : worker.node == event.node;
}

// The journal, or its end with the job's start, was lost, but the training continues. Workers that
// return in time were members; workers that joined before this was known were not.
void Job::learn_of_start(uint64_t epoch, const Turn& turn) {
    views_.raise_epoch_to(epoch);
    if (server_) server_->set_under_way();
    gathering_ = true;
    for (Rank rank = 0; rank < workers_.size(); ++rank) {
        Worker& worker = workers_[rank];
        if (worker.state == WorkerState::joined)
            suspend(rank, "it joined while the job was under way", turn);
        if (worker.state != WorkerState::absent) continue;
        worker = Worker{};
        worker.state = WorkerState::missing;
        ++ranks_seen_;
        ++unsettled_;
    }
}

void Job::join(const From<WorkerJoin>& event, const Turn& turn) {
    furnish();
    unjoined_since_.reset();
    const bool was_member = event.resume && event.epoch > 0 && event.epoch < kEpochMax;
    if (was_member && !is_started()) learn_of_start(event.epoch, turn);
    const bool back = is_member_back(event);
    if (was_member) views_.raise_epoch_to(event.epoch);
    const bool under_way = is_started() && !back;
    const bool deserted = is_gone_on_with(under_way, turn.now);
    const WorkerState state = back        ? WorkerState::member
                              : under_way ? WorkerState::newcomer
                                          : WorkerState::joined;
    attach(event.rank, event.node, state, turn);
    turn.mention(back ? "worker-back" : "worker-joined",
                 fmt::format("job {}: rank {} on node '{}' {}", options_.name, event.rank,
                             cluster_.nodes.name_of(event.node),
                             back        ? "is back"
                             : under_way ? "has joined the job, which is under way"
                                         : "has joined"),
                 about(event.rank));
    Worker& worker = workers_[event.rank];
    worker.iteration = event.iteration;
    worker.rounds_submitted = worker.rounds = event.rounds_completed;
    if (gathering_ && !gather_deadline_)
        gather_deadline_ = turn.now + cluster_.options.liveness_max;
    if (all_lost_ && !return_deadline_) return_deadline_ = turn.now + cluster_.options.liveness_max;
    if (groups_ && !under_way) groups_->add_member(event.rank, turn.now);
    if (server_ && !under_way) server_->add_member(event.rank);
    if (server_ && server_->is_waiting_for(event.node)) request_view(0);
    turn.tell(event.node,
              JoinAccepted{event.request, id_, event.rank, protocol::write_options(options_),
                           token_, under_way, run_, deserted});
}

// Whether the joining worker continues a run in which nobody takes part.
bool Job::is_gone_on_with(bool under_way, TimePoint now) {
    if (have_all_died(now)) deserted_ = true;
    deserted_ = deserted_ && under_way;
    return deserted_;
}

void Job::attach(Rank rank, NodeId node, WorkerState state, const Turn& turn) {
    Worker& worker = workers_[rank];
    if (worker.state == WorkerState::absent) ++ranks_seen_;
    if (worker.state == WorkerState::lost || worker.state == WorkerState::missing) --unsettled_;
    const bool was_lost = worker.may_return;
    worker = Worker{};
    worker.may_return = was_lost;
    worker.state = state;
    worker.node = node;
    ++live_;
    had_workers_.insert(node);
    if (Node* host = cluster_.nodes.find(node)) ++host->workers;
    empty_since_.reset();
    place(rank, state == WorkerState::member ? Placement::member : Placement::joined, turn);
}

void Job::detach(Rank rank, WorkerState state, Placement placement, const Turn& turn) {
    Worker& worker = workers_[rank];
    const bool took_part = is_taking_part(worker.state);
    if (groups_) groups_->remove_member(rank);
    if (server_) server_->remove_member(rank, turn.now);
    adoptions_.on_finished(rank);
    left_out_.forget(rank);
    worker.state = state;
    if (state == WorkerState::lost) ++unsettled_;
    if (Node* host = cluster_.nodes.find(worker.node)) --host->workers;
    if (--live_ == 0) empty_since_ = turn.now;
    if (live_ == 0) note_empty(turn);
    place(rank, placement, turn);
    if (took_part) request_view(0);
}

void Job::place(Rank rank, Placement placement, const Turn& turn) {
    turn.act(JournalAppend{encode(PlacementRecord{id_, rank, workers_[rank].node, placement})});
}

Worker* Job::live_at(NodeId node, Rank rank) {
    if (rank >= workers_.size()) return nullptr;
    Worker& worker = workers_[rank];
    return is_live(worker.state) && worker.node == node ? &worker : nullptr;
}

void Job::leave(const From<WorkerLeave>& event, const Turn& turn) {
    if (live_at(event.node, event.rank) == nullptr) return;
    if (event.orderly) {
        turn.mention("worker-left",
                     fmt::format("job {}: rank {} has left", options_.name, event.rank),
                     about(event.rank));
    } else {
        turn.warn("worker-died",
                  fmt::format("job {}: rank {} on node '{}' died", options_.name, event.rank,
                              cluster_.nodes.name_of(event.node)),
                  about(event.rank));
    }
    detach(event.rank, event.orderly ? WorkerState::left : WorkerState::lost,
           event.orderly ? Placement::left : Placement::died, turn);
    workers_[event.rank].may_return = false;
}

void Job::keep(const From<JobKept>& event, const Turn& turn) {
    if (event.model && server_ && server_->announce(event.node) && live_ > 0)
        request_view(event.node);
    if (event.debts && is_top_k(options_.compression)) {
        owing_.insert(event.node);
        if (live_ > 0) request_view(event.node);
    }
    if (!is_needed(event)) turn.tell(event.node, PartEnded{id_, token_});
}

// While a view changes, or is about to, nobody knows which node has the last round's result.
bool Job::is_needed(const From<JobKept>& kept) const {
    if (gathering_ || view_wanted_ || views_.is_changing()) return true;
    if (owing_.contains(kept.node) || is_needed(kept.node)) return true;
    const auto is_there = [&kept](const Worker& worker) {
        return is_live(worker.state) && worker.node == kept.node;
    };
    if (std::any_of(workers_.begin(), workers_.end(), is_there)) return true;
    if (!server_) return false;
    const std::vector<NodeId> hosts = server_->hosts();
    return std::binary_search(hosts.begin(), hosts.end(), kept.node);
}

// The workers left, if any, have no model to continue with: they lack rounds, or are new.
void Job::await_return(TimePoint now) {
    const bool has_member = std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
        return worker.state == WorkerState::member;
    });
    all_lost_ = live_ == 0 || (is_started() && !has_member);
    if (all_lost_ && live_ > 0 && !return_deadline_)
        return_deadline_ = now + cluster_.options.liveness_max;
}

void Job::on_node_lost(NodeId node, const std::string& reason, const Turn& turn) {
    if (groups_) groups_->on_node_lost(node, reason, turn);
    const Node* lost = cluster_.nodes.find(node);
    const bool took_them_along = lost != nullptr && lost->hosted;
    bool lost_any = false;
    for (Rank rank = 0; rank < workers_.size(); ++rank) {
        if (live_at(node, rank) == nullptr) continue;
        turn.act(Note{true, "worker-lost",
                      fmt::format("job {}: rank {} went with node '{}': {}", options_.name, rank,
                                  cluster_.nodes.name_of(node), reason),
                      about(rank), true});
        detach(rank, WorkerState::lost, took_them_along ? Placement::died : Placement::lost, turn);
        workers_[rank].node_was_lost = !took_them_along;
        workers_[rank].may_return = true;
        lost_any = true;
    }
    if (lost_any) await_return(turn.now);
    left_out_.forget_node(node);
    owing_.erase(node);  // if it is alive, it reports again
    if (views_.is_changing() && views_.covers(node)) view_broken_ = true;
    if (server_) server_->on_node_lost(node);
    if (server_ && server_->is_host(node)) request_view(0);
}

void Job::admit(const From<WorkerAdmit>& event, const Turn& turn) {
    Worker* worker = live_at(event.node, event.rank);
    if (worker == nullptr) return;
    // A member asks if no donor could give it the model.
    const bool lacks_model = worker->state == WorkerState::member && event.wants_model;
    if (worker->state != WorkerState::newcomer && worker->state != WorkerState::suspended &&
        !lacks_model)
        return;
    if (lacks_model) adoptions_.on_finished(event.rank);
    worker->accepts_own = event.accepts_own;
    if (!admits(*worker)) return left_out_.keep(event.rank, event.wants_model);
    begin_taking_part(event.rank, event.wants_model, turn);
}

void Job::begin_taking_part(Rank rank, bool wants_model, const Turn& turn) {
    Worker& worker = workers_[rank];
    if (worker.state == WorkerState::suspended)
        turn.note("worker-back",
                  fmt::format("job {}: rank {} takes part again", options_.name, rank),
                  about(rank));
    worker.state = WorkerState::admitted;
    deserted_ = false;
    worker.wants_model = wants_model;
    worker.stopped_since.reset();
    worker.busy_ms = 0;
    place(rank, Placement::member, turn);
    if (groups_) groups_->add_member(rank, turn.now);
    if (server_) server_->add_newcomer(rank);
    request_view(worker.node);
}

// ------------------------------------------------------------------------------------------ groups

void Job::on_ready(const From<Ready>& event, const Turn& turn) {
    const Worker* worker = live_at(event.node, event.rank);
    if (worker == nullptr) return;
    if (!groups_) {
        return turn.warn("ready-without-groups",
                         fmt::format("job {}: rank {} is ready for a group, but the policy is {}",
                                     options_.name, event.rank, name_of(options_.policy)),
                         about(event.rank));
    }
    if (!is_taking_part(worker->state) && !admits(*worker)) {
        if (worker->state == WorkerState::newcomer || left_out_.keeps(event.rank))
            left_out_.keep(event);
        return;
    }
    // The daemon does not know yet that the worker was suspended, and will end this request as
    // stale.
    if (worker->state == WorkerState::suspended) return;
    if (event.stage == ReadyStage::announced && !is_taking_part(worker->state)) return;
    if (worker->state == WorkerState::newcomer) begin_taking_part(event.rank, false, turn);
    adoptions_.on_finished(event.rank);
    groups_->on_ready(event, turn);
}

void Job::on_withdraw(const From<Withdraw>& event, const Turn& turn) {
    if (live_at(event.node, event.rank) == nullptr) return;
    left_out_.forget(event.rank);
    if (groups_) groups_->on_withdraw(event, turn);
    if (server_ && server_->withdraw(event.rank)) turn.tell(event.node, Withdrawn{id_, event.rank});
}

void Job::on_group_done(const From<GroupDone>& event, const Turn& turn) {
    if (groups_) groups_->on_done(event, turn);
}

// ------------------------------------------------------------------------------- parameter server

void Job::on_stored(const From<ServerStored>& event, const Turn& turn) {
    if (server_ && live_at(event.node, event.rank) != nullptr) server_->on_stored(event, turn.now);
}

void Job::on_asked(const From<ServerAsked>& event, const Turn& turn) {
    if (server_ && live_at(event.node, event.rank) != nullptr) server_->on_asked(event, turn.now);
}

void Job::on_assigned(const From<ServerAssigned>& event) {
    if (server_ && is_needed(event.node)) server_->on_assigned(event);
}

void Job::on_checkpoint_asked(const From<CheckpointAsked>& event) {
    if (server_ && live_at(event.node, event.rank) != nullptr) server_->on_checkpoint_asked(event);
}

void Job::on_saved(const From<ServerSaved>& event, const Turn& turn) {
    if (!server_ || !is_needed(event.node)) return;
    From<ServerSaved> named = event;
    if (!named.failure.empty())
        named.failure =
            fmt::format("node '{}': {}", cluster_.nodes.name_of(event.node), event.failure);
    server_->on_saved(named, turn);
}

void Job::add_nodes(std::set<NodeId>& ret_nodes) const {
    for (const Worker& worker : workers_) ret_nodes.insert(worker.node);
    for (const Member& member : views_.view().members) ret_nodes.insert(member.node);
    ret_nodes.insert(owing_.begin(), owing_.end());
    if (server_) {
        for (const NodeId host : server_->hosts()) ret_nodes.insert(host);
    }
}

void Job::end(const Turn& turn) const {
    std::set<NodeId> nodes = had_workers_;
    add_nodes(nodes);
    nodes.erase(0);
    turn.tell_each({nodes.begin(), nodes.end()}, JobEnded{id_, token_});
}

void Job::on_group_report(NodeId node, const GroupReport& report, TimePoint now) {
    if (reported_) reported_->on_report(report, node, views_.view().epoch, now);
}

// ---------------------------------------------------------------------------------- end, deadlines

bool Job::has_ended(TimePoint now) const {
    if (unjoined_since_) return now - *unjoined_since_ >= cluster_.options.unjoined_keep;
    if (live_ != 0 || !empty_since_) return false;
    return unsettled_ == 0 || now - *empty_since_ >= cluster_.options.abandoned_keep;
}

std::optional<TimePoint> Job::next_deadline() const {
    std::optional<TimePoint> earliest;
    const auto consider = [&](TimePoint when) {
        earliest = std::min(earliest.value_or(when), when);
    };
    if (gathering_ && gather_deadline_) consider(*gather_deadline_);
    const bool awaits_others = return_deadline_ && all_lost_ && live_ > 0;
    if (awaits_others && !gathering_) consider(*return_deadline_);
    if (const auto start = late_start(); start && !gathering_) consider(*start);
    if (unjoined_since_) consider(*unjoined_since_ + cluster_.options.unjoined_keep);
    if (empty_since_) consider(*empty_since_ + cluster_.options.abandoned_keep);
    if (views_.is_changing()) consider(views_.changing_since() + 5 * cluster_.options.liveness_max);
    // Until then nothing else in the job is considered.
    if (gathering_ || awaits_others) return earliest;
    if (groups_ && views_.view().epoch > 0) {
        if (const auto group = groups_->next_deadline()) consider(*group);
    }
    if (server_ && server_->absent_until() && !views_.is_changing())
        consider(*server_->absent_until());
    if (server_ && !views_.is_changing())
        if (const auto checkpoint = server_->next_checkpoint()) consider(*checkpoint);
    return earliest;
}

}  // namespace pace::controller
