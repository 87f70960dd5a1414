#include "service/controller/core/jobs/job.h"

#include <algorithm>

#include "service/controller/vocabulary/options.h"

namespace pace::controller {

Job::Job(JobId id, JobOptions options, uint32_t uid, uint64_t token, Cluster& cluster)
    : id_(id),
      options_(std::move(options)),
      uid_(uid),
      token_(token),
      cluster_(cluster),
      roster_(id, options_.world, cluster.nodes),
      views_(id, token, is_top_k(options_.compression)),
      attendance_(options_, cluster.options, roster_, views_) {}

void Job::set_run(Run run, uint64_t before) {
    run_ = std::move(run);
    run_before_ = before;
    views_.set_run_began(run_.began);
}

// Allocates memory proportional to the world. A job that nobody joins uses none.
void Job::furnish() {
    if (!workers().empty()) return;
    roster_.make_room();
    if (forms_groups(options_.policy))
        groups_ = std::make_unique<Groups>(id_, options_, token_, roster_.workers(), cluster_,
                                           [this](NodeId node) { return zone_of(node); });
    if (options_.policy == Policy::prague_static)
        reported_ = std::make_unique<ReportedGroups>(options_, roster_.workers(), cluster_);
    if (family_of(options_.policy) == Family::server)
        server_ = std::make_unique<ServerJob>(id_, options_, token_, cluster_.life);
}

// -------------------------------------------------------------------------------- coming and going

// The journal, or its end with the job's start, was lost, but the training continues. Workers that
// return in time were members; workers that joined before this was known were not.
void Job::learn_of_start(uint64_t epoch, const Turn& turn) {
    views_.raise_epoch_to(epoch);
    if (server_) server_->set_under_way();
    attendance_.begin_gathering();
    for (Rank rank = 0; rank < workers().size(); ++rank)
        if (roster_.at(rank).state == WorkerState::joined)
            suspend(rank, "it joined while the job was under way", turn);
    roster_.expect_members();
}

void Job::join(const From<WorkerJoin>& event, const Turn& turn) {
    furnish();
    const bool was_member = event.resume && event.epoch > 0 && event.epoch < kEpochMax;
    // Neither a daemon nor a journal knows of a view any more, and this worker averages on.
    const bool has_averaged = event.run.began != 0 && event.iteration > 0 &&
                              family_of(options_.policy) == Family::averaging;
    if ((was_member || has_averaged) && !is_started())
        learn_of_start(std::max<uint64_t>(event.epoch, 1), turn);
    const bool back = attendance_.is_member_back(event);
    if (was_member) views_.raise_epoch_to(event.epoch);
    const bool under_way = is_started() && !back;
    const bool deserted = attendance_.continues_alone(under_way, turn.now);
    const WorkerState state = back        ? WorkerState::member
                              : under_way ? WorkerState::newcomer
                                          : WorkerState::joined;
    roster_.enter(event.rank, event.node, state, turn);
    attendance_.on_joined(turn.now);
    turn.mention(back ? "worker-back" : "worker-joined",
                 fmt::format("job {}: rank {} on node '{}' {}", options_.name, event.rank,
                             cluster_.nodes.name_of(event.node),
                             back        ? "is back"
                             : under_way ? "has joined the job, which is under way"
                                         : "has joined"),
                 about(event.rank));
    Worker& worker = roster_.at(event.rank);
    worker.iteration = event.iteration;
    worker.rounds_submitted = worker.rounds = event.rounds_completed;
    const bool is_new = event.resume ? event.is_new : event.run.began == 0;
    if (!is_new) worker.came_from = event.resume ? event.epoch : 0;
    if (groups_ && !under_way) groups_->add_member(event.rank, turn.now);
    if (server_ && !under_way) server_->add_member(event.rank);
    if (server_ && server_->is_waiting_for(event.node)) request_view(0);
    turn.tell(event.node,
              JoinAccepted{event.request, id_, event.rank, protocol::write_options(options_),
                           token_, under_way, run_, deserted});
}

// The worker has no part any more in what the job does.
void Job::end_part(Rank rank, TimePoint now) {
    if (groups_) groups_->remove_member(rank);
    if (server_) server_->remove_member(rank, now);
    adoptions_.on_finished(rank);
}

void Job::depart(Rank rank, Departure how, const Turn& turn) {
    const bool took_part = is_taking_part(roster_.at(rank).state);
    end_part(rank, turn.now);
    left_out_.forget(rank);
    roster_.go(rank, how, turn);
    attendance_.on_gone(turn.now);
    if (roster_.live() == 0) note_empty(turn);
    if (took_part) request_view(0);
}

void Job::leave(const From<WorkerLeave>& event, const Turn& turn) {
    if (roster_.live_at(event.node, event.rank) == nullptr) return;
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
    depart(event.rank, event.orderly ? Departure::left : Departure::died, turn);
}

void Job::keep(const From<JobKept>& event, const Turn& turn) {
    if (event.model && server_ && server_->announce(event.node) && roster_.live() > 0)
        request_view(event.node);
    if (event.debts && is_top_k(options_.compression)) {
        owing_.insert(event.node);
        if (roster_.live() > 0) request_view(event.node);
    }
    if (!is_needed(event)) turn.tell(event.node, PartEnded{id_, token_});
}

// While a view changes, or is about to, nobody knows which node has the last round's result.
bool Job::is_needed(const From<JobKept>& kept) const {
    if (attendance_.is_gathering() || view_wanted_ || views_.is_changing()) return true;
    if (owing_.contains(kept.node) || is_needed(kept.node)) return true;
    if (std::ranges::binary_search(views_.holders(), kept.node)) return true;
    const auto is_there = [&kept](const Worker& worker) {
        return is_live(worker.state) && worker.node == kept.node;
    };
    if (roster_.any(is_there)) return true;
    if (!server_) return false;
    const std::vector<NodeId> hosts = server_->hosts();
    return std::binary_search(hosts.begin(), hosts.end(), kept.node);
}

void Job::on_node_lost(NodeId node, const std::string& reason, const Turn& turn) {
    if (groups_) groups_->on_node_lost(node, reason, turn);
    const Node* lost = cluster_.nodes.find(node);
    const bool took_them_along = lost != nullptr && lost->hosted;
    bool lost_any = false;
    for (Rank rank = 0; rank < workers().size(); ++rank) {
        if (roster_.live_at(node, rank) == nullptr) continue;
        turn.act(Note{true, "worker-lost",
                      fmt::format("job {}: rank {} went with node '{}': {}", options_.name, rank,
                                  cluster_.nodes.name_of(node), reason),
                      about(rank), true});
        depart(rank, took_them_along ? Departure::with_all_of_it : Departure::with_node, turn);
        lost_any = true;
    }
    if (lost_any) attendance_.on_lost(turn.now);
    left_out_.forget_node(node);
    owing_.erase(node);  // if it is alive, it reports again
    if (views_.is_changing() && views_.covers(node)) view_broken_ = true;
    if (server_) server_->on_node_lost(node);
    if (server_ && server_->is_host(node)) request_view(0);
}

void Job::admit(const From<WorkerAdmit>& event, const Turn& turn) {
    Worker* worker = roster_.live_at(event.node, event.rank);
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
    if (roster_.at(rank).state == WorkerState::suspended)
        turn.note("worker-back",
                  fmt::format("job {}: rank {} takes part again", options_.name, rank),
                  about(rank));
    roster_.admit(rank, wants_model, turn);
    attendance_.on_admitted();
    if (groups_) groups_->add_member(rank, turn.now);
    if (server_) server_->add_newcomer(rank);
    request_view(roster_.at(rank).node);
}

// ------------------------------------------------------------------------------------------ groups

void Job::on_ready(const From<Ready>& event, const Turn& turn) {
    const Worker* worker = roster_.live_at(event.node, event.rank);
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
    if (roster_.live_at(event.node, event.rank) == nullptr) return;
    left_out_.forget(event.rank);
    if (groups_) groups_->on_withdraw(event, turn);
    if (server_ && server_->withdraw(event.rank)) turn.tell(event.node, Withdrawn{id_, event.rank});
}

void Job::on_group_done(const From<GroupDone>& event, const Turn& turn) {
    if (groups_) groups_->on_done(event, turn);
}

// ------------------------------------------------------------------------------- parameter server

void Job::on_stored(const From<ServerStored>& event, const Turn& turn) {
    if (server_ && roster_.live_at(event.node, event.rank) != nullptr)
        server_->on_stored(event, turn.now);
}

void Job::on_asked(const From<ServerAsked>& event, const Turn& turn) {
    if (server_ && roster_.live_at(event.node, event.rank) != nullptr)
        server_->on_asked(event, turn.now);
}

void Job::on_assigned(const From<ServerAssigned>& event) {
    if (server_ && is_needed(event.node)) server_->on_assigned(event);
}

void Job::on_checkpoint_asked(const From<CheckpointAsked>& event) {
    if (server_ && roster_.live_at(event.node, event.rank) != nullptr)
        server_->on_checkpoint_asked(event);
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
    for (const Worker& worker : workers()) ret_nodes.insert(worker.node);
    for (const Member& member : views_.view().members) ret_nodes.insert(member.node);
    ret_nodes.insert(owing_.begin(), owing_.end());
    if (server_) {
        for (const NodeId host : server_->hosts()) ret_nodes.insert(host);
    }
}

void Job::end(const Turn& turn) const {
    std::set<NodeId> nodes = roster_.nodes_ever();
    add_nodes(nodes);
    nodes.erase(0);
    turn.tell_each({nodes.begin(), nodes.end()}, JobEnded{id_, token_});
}

void Job::on_group_report(NodeId node, const GroupReport& report, TimePoint now) {
    if (reported_) reported_->on_report(report, node, views_.view().epoch, now);
}

// ------------------------------------------------------------------------------------- the journal

void Job::replay(const EpochRecord& record) {
    if (!is_started()) roster_.start();
    views_.raise_epoch_to(record.epoch);
}

void Job::replay(const AnewRecord& record) {
    anew_epoch_ = record.epoch;
}

void Job::replay(const PlacementRecord& record) {
    if (record.rank >= options_.world) return;
    furnish();
    roster_.replay(record, is_started());
}

void Job::replay_finished(TimePoint now) {
    if (server_ && is_started()) server_->set_under_way();
    roster_.replay_finished();
    attendance_.replay_finished(now);
}

void Job::append_records(std::vector<JournalRecord>& records) const {
    records.emplace_back(JobRecord{id_, uid_, token_, options_});
    if (is_token_new_) records.emplace_back(NewTokenRecord{id_});
    records.emplace_back(RunRecord{id_, run_, run_before_});
    if (is_started()) records.emplace_back(EpochRecord{id_, views_.epoch()});
    if (anew_epoch_ != 0) records.emplace_back(AnewRecord{id_, anew_epoch_});
    roster_.append_records(records);
}

// -------------------------------------------------------------------------------- deadlines, notes

std::optional<TimePoint> Job::next_deadline() const {
    std::optional<TimePoint> earliest = attendance_.next_deadline();
    const auto consider = [&](TimePoint when) {
        earliest = std::min(earliest.value_or(when), when);
    };
    if (views_.is_changing()) consider(views_.changing_since() + 5 * cluster_.options.liveness_max);
    if (attendance_.holds_up()) return earliest;
    if (groups_ && views_.view().epoch > 0) {
        if (const auto group = groups_->next_deadline()) consider(*group);
    }
    if (server_ && server_->absent_until() && !views_.is_changing())
        consider(*server_->absent_until());
    if (server_ && !views_.is_changing())
        if (const auto checkpoint = server_->next_checkpoint()) consider(*checkpoint);
    return earliest;
}

About Job::about(Rank rank) const {
    return {options_.name, rank, cluster_.nodes.name_of(roster_.at(rank).node)};
}

void Job::note_empty(const Turn& turn) const {
    const auto lost = std::count_if(workers().begin(), workers().end(), [](const Worker& worker) {
        return worker.state == WorkerState::lost;
    });
    turn.note("job-finished",
              fmt::format("job {}: no worker is left{}", options_.name,
                          lost == 0 ? std::string() : fmt::format(", and {} were lost", lost)),
              about());
}

}  // namespace pace::controller
