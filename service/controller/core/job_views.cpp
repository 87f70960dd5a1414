// Job: when its view must change, and who is in the next one.
#include <algorithm>

#include "service/controller/core/job.h"

namespace pace::controller {

// The membership has changed; `node` has got a member, 0 if one is gone. A change under way takes
// in what it can: who is gone is left out when it commits, who came is in if its node was told to
// prepare.
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

// It has a member of the view, or a shard of the model.
bool Job::is_needed(NodeId node) const {
    const std::vector<NodeId> nodes = nodes_of(views_.view().members);
    return std::binary_search(nodes.begin(), nodes.end(), node) ||
           (server_ && server_->is_host(node));
}

void Job::on_view_prepared(const ViewPrepared& event) {
    views_.on_prepared(event);
    if (server_ && event.epoch == views_.epoch()) server_->on_prepared(event.node, event.server);
}

void Job::settle(const Turn& turn) {
    if (gathering_) end_gathering(turn);
    if (gathering_) return;
    if (start_is_due()) {
        turn.note("job-started",
                  fmt::format("job {}: all {} workers have joined", options_.name, options_.world));
        view_wanted_ = true;
    }
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

void Job::begin_view(const Turn& turn) {
    view_wanted_ = view_broken_ = false;
    std::vector<NodeId> nodes;
    const auto add = [&](NodeId node) {
        if (cluster_.nodes.is_attached(node)) nodes.push_back(node);
    };
    for (const Member& member : views_.view().members) add(member.node);
    for (const NodeId node : owing_) add(node);
    if (server_) {
        for (const NodeId node : server_->hosts()) add(node);
        server_->begin_view();
    }
    for (Worker& worker : workers_) {
        if (worker.state == WorkerState::joined) worker.state = WorkerState::member;
        // A newcomer's node may owe what a predecessor handed in there, in a view unknown to us.
        const bool may_owe = is_top_k(options_.compression) && is_live(worker.state);
        // And its disk may have what is left of a model.
        const bool may_help = server_ && server_->is_lost() && is_live(worker.state);
        if (may_owe || may_help || is_taking_part(worker.state)) add(worker.node);
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    views_.begin(nodes, turn);
}

std::vector<Member> Job::members_covered() const {
    std::vector<Member> members;
    for (Rank rank = 0; rank < workers_.size(); ++rank) {
        const Worker& worker = workers_[rank];
        if (is_taking_part(worker.state) && views_.covers(worker.node))
            members.push_back({rank, worker.node});
    }
    return members;
}

uint32_t Job::zone_of(NodeId node) const {
    const Node* known = cluster_.nodes.find(node);
    const uint32_t label = known == nullptr ? 0 : known->label_number;
    return label != 0 ? label : places_.place_of(node);
}

void Job::find_places(const std::vector<NodeId>& nodes) {
    std::vector<Places::Node> found;
    found.reserve(nodes.size());
    for (const NodeId node : nodes) {
        const Node* known = cluster_.nodes.find(node);
        found.push_back({node, known != nullptr && known->label_number != 0});
    }
    places_.refresh(found, cluster_.links);
}

// What was measured counts for groups that are planned from now on, and for the next view.
void Job::on_links(NodeId node) {
    const std::vector<NodeId> nodes = nodes_of(views_.view().members);
    if (std::binary_search(nodes.begin(), nodes.end(), node)) find_places(nodes);
}

void Job::commit_view(const Turn& turn) {
    std::vector<Member> members = members_covered();
    find_places(nodes_of(members));
    for (Member& member : members) {
        member.zone = zone_of(member.node);
        member.nccl = cluster_.nodes.nccl_of(member.node);
    }
    const std::vector<CommitView::Adoption> adoptions = adoptions_.list(members, workers_);
    for (const Member& member : members) {
        workers_[member.rank].state = WorkerState::member;
        workers_[member.rank].wants_model = false;
    }
    if (!members.empty())
        std::erase_if(owing_, [this](NodeId node) { return views_.covers(node); });
    CommitView commit = views_.commit(std::move(members), adoptions);
    if (server_) server_->commit(commit, cluster_.options.liveness_max, turn);
    if (!commit.nodes.empty()) turn.act(std::move(commit));
    ++cluster_.counters.views;
}

// A daemon answers PrepareView at once; one that has not after five times the longest silence
// allowed is broken.
NodeId Job::deaf_node(TimePoint now) const {
    const bool late =
        views_.is_changing() && now - views_.changing_since() >= 5 * cluster_.options.liveness_max;
    return late ? views_.first_awaited() : 0;
}

}  // namespace pace::controller
