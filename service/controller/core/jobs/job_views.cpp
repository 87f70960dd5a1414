// Job views: when the view must change, and who is in the next one.
#include <algorithm>
#include <set>

#include "service/controller/core/jobs/job.h"

#include "base/each_once.h"

namespace pace::controller {

// The membership has changed. `node` has a new member; 0 if a member is gone. A change under way
// includes what it can: members that are gone are left out when it commits, and new ones are in if
// their nodes were told to prepare.
void Job::request_view(NodeId node) {
    if (!is_started()) return;
    if (views_.is_changing() && (node == 0 || views_.covers(node))) return;
    view_wanted_ = true;
}

void Job::on_link_lost(NodeId a, NodeId b) {
    if (a != b && is_needed(a) && is_needed(b)) request_view(0);
}

void Job::on_broken(NodeId node) {
    if (is_needed(node)) request_view(0);
}

// Whether the node has a member of the view, or a shard of the model.
bool Job::is_needed(NodeId node) const {
    return is_needed(node, nodes_of(views_.view().members));
}

bool Job::is_needed(NodeId node, const std::vector<NodeId>& in_view) const {
    return std::binary_search(in_view.begin(), in_view.end(), node) ||
           (server_ && server_->is_host(node));
}

void Job::on_view_prepared(const From<ViewPrepared>& event) {
    // The answer is about a view that this controller has forgotten, or that its predecessor has
    // not journalled.
    if (views_.is_changing() && views_.covers(event.node) && event.epoch == views_.epoch() &&
        event.newer_epoch >= views_.epoch() && event.newer_epoch < kEpochMax) {
        views_.raise_epoch_to(event.newer_epoch);
        view_broken_ = true;
        return;
    }
    views_.on_prepared(event);
    if (server_ && event.epoch == views_.epoch()) server_->on_prepared(event.node, event.server);
}

void Job::settle(const Turn& turn) {
    if (attendance_.ends_gathering(turn.now)) end_gathering(turn);
    if (attendance_.is_gathering() || attendance_.waits_for_return(turn.now)) return;
    attendance_.look_for_start(turn.now);
    if (attendance_.start_is_due(turn.now)) {
        turn.note(
            "job-started",
            roster_.seen() == options_.world
                ? fmt::format("job {}: all {} workers have joined", options_.name, options_.world)
                : fmt::format("job {}: begins with {} of {} workers", options_.name, roster_.live(),
                              options_.world),
            about());
        view_wanted_ = true;
    }
    follow_cuts(turn);
    if (server_ && server_->absent_until() && turn.now >= *server_->absent_until()) request_view(0);
    while (view_broken_ || (view_wanted_ && !views_.is_changing()) || views_.is_prepared()) {
        if (views_.is_prepared() && !view_broken_) {
            commit_view(turn);
        } else {
            begin_view(turn);
        }
    }
    if (groups_ && views_.view().epoch > 0) groups_->form(views_.epoch(), turn);
    if (server_ && !views_.is_changing()) server_->look_at_checkpoints(turn.now);
    if (server_) server_->send(turn);
}

// The job goes on without the members that have not returned.
void Job::end_gathering(const Turn& turn) {
    std::set<NodeId> gone;
    for (const Rank rank : roster_.give_up_missing(turn)) {
        const NodeId node = roster_.at(rank).node;
        if (!cluster_.nodes.is_attached(node)) gone.insert(node);
        turn.warn("worker-missing",
                  fmt::format("job {}: rank {} did not come back after the controller's restart",
                              options_.name, rank),
                  about(rank));
    }
    // Its peers may have operations with it under way, which would never end otherwise.
    for (const NodeId node : gone)
        turn.tell_others(NodeGone{node, "it did not come back after the controller's restart"});
    view_wanted_ = true;
}

void Job::begin_view(const Turn& turn) {
    view_wanted_ = view_broken_ = false;
    std::vector<NodeId> nodes;
    const auto add = [&](NodeId node) {
        if (cluster_.nodes.is_attached(node)) nodes.push_back(node);
    };
    for (const Member& member : views_.view().members) add(member.node);
    for (const NodeId node : views_.holders()) add(node);
    for (const NodeId node : owing_) add(node);
    if (server_) {
        for (const NodeId node : server_->hosts()) add(node);
        server_->begin_view();
    }
    roster_.start();
    for (const Worker& worker : workers()) {
        // A newcomer's node may keep residuals of a predecessor there, from a view unknown to us.
        const bool may_owe = is_top_k(options_.compression) && is_live(worker.state);
        // The newcomer's node may have a checkpoint of the model on its disk.
        const bool may_help = server_ && server_->wants_disks() && is_live(worker.state);
        if (may_owe || may_help || is_taking_part(worker.state)) add(worker.node);
    }
    base::sort_each_once(nodes);
    views_.begin(nodes, turn);
}

std::vector<Member> Job::members_covered() const {
    std::vector<Member> members;
    for (Rank rank = 0; rank < workers().size(); ++rank) {
        const Worker& worker = roster_.at(rank);
        if (is_taking_part(worker.state) && views_.covers(worker.node))
            members.push_back({rank, worker.node});
    }
    return members;
}

uint32_t Job::zone_of(NodeId node) const {
    const uint32_t label = cluster_.nodes.label_of(node);
    return label != 0 ? label : places_.place_of(node);
}

void Job::find_places(const std::vector<NodeId>& nodes) {
    std::vector<Places::Node> found;
    found.reserve(nodes.size());
    for (const NodeId node : nodes) found.push_back({node, cluster_.nodes.label_of(node) != 0});
    places_.refresh(found, cluster_.links);
}

// Measurements affect groups planned from now on, and, if sums may depend on them, the next view.
void Job::on_links(NodeId node) {
    const std::vector<NodeId> nodes = nodes_of(views_.view().members);
    if (std::binary_search(nodes.begin(), nodes.end(), node)) find_places(nodes);
}

// Whether any member, of this view or an earlier one, has the result of a round.
bool Job::are_rounds_made() const {
    if (views_.completed(left_out_.nodes()) > 0) return true;
    return roster_.any(
        [](const Worker& worker) { return is_live(worker.state) && worker.rounds > 0; });
}

// Whether a worker that took part before this controller has a model to give, on a node that has
// not been left behind.
bool Job::is_a_model_left(const std::vector<NodeId>& left_behind) const {
    return std::ranges::any_of(members_covered(), [&](const Member& member) {
        return roster_.at(member.rank).came_from && !views_.without_model().contains(member.rank) &&
               !std::ranges::binary_search(left_behind, member.node);
    });
}

// Gradients of a model that lacks rounds must not enter the others' rounds. A newcomer whose first
// call is no broadcast has, as a rule, not noticed that its daemon was restarted while it computed.
// A member has missed rounds if its node was excluded, and a restarted controller does not know.
// Nor does the controller know that a worker was opened while others had a model.
void Job::leave_out_those_who_lack_rounds(const Turn& turn) {
    if (family_of(options_.policy) != Family::collective || !are_rounds_made()) return;
    const std::vector<NodeId> left_behind = views_.left_behind(left_out_.nodes());
    const bool others_have_model = is_a_model_left(left_behind);
    for (Rank rank = 0; rank < workers().size(); ++rank) {
        const Worker& worker = roster_.at(rank);
        const bool did_not_ask = worker.state == WorkerState::admitted && !worker.wants_model;
        const bool is_left_behind =
            worker.state == WorkerState::member &&
            std::binary_search(left_behind.begin(), left_behind.end(), worker.node);
        const bool was_opened_since = worker.state == WorkerState::member &&
                                      views_.view().epoch == 0 && is_new(worker) &&
                                      others_have_model;
        const bool lacks_rounds =
            is_left_behind || was_opened_since || (did_not_ask && !worker.accepts_own);
        if (lacks_rounds && views_.covers(worker.node))
            suspend(rank, "the job has made rounds without this worker, which its model lacks",
                    turn);
    }
}

// The members' first broadcast would give their contents to a worker that has trained.
void Job::leave_out_the_new_before_others(const Turn& turn) {
    if (!begins_together()) return;
    const bool has_trained = roster_.any([this](const Worker& worker) {
        return worker.state == WorkerState::admitted && worker.wants_model && worker.came_from &&
               worker.rounds > 0 && views_.covers(worker.node);
    });
    if (!has_trained) return;
    for (Rank rank = 0; rank < workers().size(); ++rank) {
        const Worker& worker = roster_.at(rank);
        if (worker.state == WorkerState::member && views_.covers(worker.node))
            suspend(rank, "a worker that has trained is back, and this one was opened since", turn);
    }
}

// A worker of an averaging job goes on with its own model when it returns. If the job has begun
// anew meanwhile, that model is not related to the others'. It must not enter their averages.
void Job::leave_out_those_of_before(const Turn& turn) {
    for (Rank rank = 0; rank < workers().size(); ++rank) {
        const Worker& worker = roster_.at(rank);
        const bool keeps_model = worker.state == WorkerState::admitted && !worker.wants_model &&
                                 !worker.accepts_own && views_.covers(worker.node);
        if (!keeps_model || !worker.came_from || *worker.came_from >= anew_epoch_) continue;
        suspend(rank, "the job has begun anew without this worker, which has another model", turn,
                true);
        // Who averages on although it was told is free to.
        roster_.at(rank).came_from.reset();
    }
}

// Whether the worker was opened since anybody last took part. In a controller's first view the
// members are those who have come back, and a worker's daemon has told.
bool Job::is_new(const Worker& worker) const {
    const bool was_member = worker.state == WorkerState::member && views_.view().epoch != 0;
    return was_member ? are_members_new_ : !worker.came_from;
}

bool Job::begins_anew(const std::vector<Member>& members) const {
    return !members.empty() && family_of(options_.policy) == Family::averaging &&
           std::ranges::all_of(members, [this](const Member& member) {
               const Worker& worker = roster_.at(member.rank);
               return worker.state == WorkerState::admitted && is_new(worker);
           });
}

// Whether the members, newcomers apart, wait in their first broadcast for whoever comes.
bool Job::begins_together() const {
    return family_of(options_.policy) == Family::collective &&
           std::ranges::all_of(members_covered(), [this](const Member& member) {
               const Worker& worker = roster_.at(member.rank);
               return worker.state != WorkerState::member || is_new(worker);
           });
}

// For `are_members_new_`, before the members' states change.
bool Job::are_new(const std::vector<Member>& members,
                  const std::vector<Adoption>& adoptions) const {
    return std::ranges::all_of(members, [&](const Member& member) {
        const Worker& worker = roster_.at(member.rank);
        const bool joins_them =
            worker.state == WorkerState::admitted &&
            std::ranges::find(adoptions, Adoption{member.rank, kNoRank}) != adoptions.end();
        return joins_them || is_new(worker);
    });
}

// A worker was left out of a server job, and neither its node nor a restarted controller knows of
// it. Its calls are for a model in whose order it has left.
void Job::leave_out_those_without_part(const Turn& turn) {
    if (!server_) return;
    const auto with_part = server_->ranks_to_take_up();
    if (!with_part) return;
    for (Rank rank = 0; rank < workers().size(); ++rank) {
        const Worker& worker = roster_.at(rank);
        const bool is_member = worker.state == WorkerState::member && views_.covers(worker.node);
        if (is_member && !with_part->contains(rank))
            suspend(rank, "the job went on without this worker", turn);
    }
}

void Job::leave_out_without_donor(Rank rank, const Turn& turn) {
    roster_.send_back(rank, turn);
    if (groups_) groups_->remove_member(rank);
    const NodeId node = roster_.at(rank).node;
    turn.tell(node, NoModel{id_, rank});
    turn.warn("no-model",
              fmt::format("job {}: rank {} on node '{}' asks for the model, and no "
                          "member has got one by a broadcast",
                          options_.name, rank, cluster_.nodes.name_of(node)),
              about(rank));
}

// A parameter server has no model yet: the newcomers' broadcasts are part of the first round, as
// those of newcomers to which nobody can give a model.
void Job::name_newcomers(const std::vector<Member>& members,
                         std::vector<Adoption>& ret_adoptions) const {
    for (const Member& member : members)
        if (roster_.at(member.rank).state == WorkerState::admitted)
            ret_adoptions.push_back({member.rank, kNoRank});
}

void Job::commit_view(const Turn& turn) {
    leave_out_those_who_lack_rounds(turn);
    leave_out_those_of_before(turn);
    leave_out_those_without_part(turn);
    are_members_new_ = are_members_new_ && !views_.has_gone_on();
    leave_out_the_new_before_others(turn);
    std::vector<Member> members = members_covered();
    const bool rounds_made = are_rounds_made() && !begins_together();
    Adoptions::Answer answer =
        adoptions_.list({members, workers(), views_.without_model(), rounds_made});
    for (const Rank rank : answer.without_donor) {
        leave_out_without_donor(rank, turn);
        std::erase_if(members, [rank](const Member& member) { return member.rank == rank; });
    }
    if (server_ && !server_->is_model_made()) name_newcomers(members, answer.adoptions);
    find_places(nodes_of(members));
    for (Member& member : members) {
        member.zone = relay_zone_of(cluster_, member.node, zone_of(member.node));
        member.nccl = cluster_.nodes.nccl_of(member.node);
    }
    if (begins_anew(members)) {
        anew_epoch_ = views_.epoch();
        turn.act(JournalAppend{encode(AnewRecord{id_, anew_epoch_})});
    }
    are_members_new_ = are_new(members, answer.adoptions);
    roster_.make_members(members);
    if (!members.empty())
        std::erase_if(owing_, [this](NodeId node) { return views_.covers(node); });
    To<CommitView> commit = views_.commit(std::move(members), answer.adoptions, left_out_.nodes());
    if (server_) server_->commit(commit, cluster_.options.liveness_max, turn);
    if (!commit.to.empty()) turn.act(std::move(commit));
    ++cluster_.counters.views;
    const std::vector<Member>& now_in = views_.view().members;
    turn.mention(
        "view-changed",
        fmt::format("job {}: view {} has {} of {} workers, on {} nodes", options_.name,
                    views_.view().epoch, now_in.size(), options_.world, nodes_of(now_in).size()),
        about());
}

// A daemon answers PrepareView at once. A daemon that has not answered after five times the longest
// silence allowed is broken.
NodeId Job::deaf_node(TimePoint now) const {
    const bool late =
        views_.is_changing() && now - views_.changing_since() >= 5 * cluster_.options.liveness_max;
    return late ? views_.first_awaited() : 0;
}

}  // namespace pace::controller
