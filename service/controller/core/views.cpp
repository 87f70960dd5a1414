#include "service/controller/core/views.h"

#include <algorithm>

#include "service/controller/core/journal_record.h"

namespace pace::controller {

std::vector<NodeId> nodes_of(std::span<const Member> members) {
    std::vector<NodeId> nodes;
    nodes.reserve(members.size());
    for (const Member& member : members) nodes.push_back(member.node);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
}

void Views::begin(std::span<const NodeId> nodes, const Turn& turn) {
    ++epoch_;
    changing_ = true;
    since_ = turn.now;
    awaited_ = nodes.size();
    answers_.clear();
    turn.act(JournalAppend{encode(EpochRecord{job_, epoch_})});
    for (const NodeId node : nodes) {
        answers_.push_back({node, false, 0});
        turn.act(PrepareView{node, job_, epoch_});
    }
}

// The nodes that miss the last round, which the donor has. Of all that answered, not only of the old
// view: a controller that was restarted has none. A node without members in that round has nothing
// to fetch, and knows it.
std::vector<NodeId> Views::behind(uint64_t completed) const {
    std::vector<NodeId> nodes;
    for (const Answer& answer : answers_) {
        if (answer.given && answer.completed + 1 == completed) nodes.push_back(answer.node);
    }
    return nodes;
}

size_t Views::index_of(NodeId node) const {
    const auto it = std::lower_bound(answers_.begin(), answers_.end(), node,
                                     [](const Answer& a, NodeId n) { return a.node < n; });
    const bool found = it != answers_.end() && it->node == node;
    return found ? static_cast<size_t>(it - answers_.begin()) : answers_.size();
}

bool Views::covers(NodeId node) const {
    return index_of(node) != answers_.size();
}

void Views::on_prepared(const ViewPrepared& event) {
    if (!changing_ || event.epoch != epoch_) return;
    const size_t index = index_of(event.node);
    if (index == answers_.size() || answers_[index].given) return;
    answers_[index].given = true;
    answers_[index].completed = event.completed;
    --awaited_;
}

NodeId Views::first_awaited() const {
    const auto it =
        std::find_if(answers_.begin(), answers_.end(), [](const Answer& a) { return !a.given; });
    return changing_ && it != answers_.end() ? it->node : 0;
}

void Views::commit(std::vector<Member> members, const std::vector<CommitView::Adoption>& adoptions,
                   const Turn& turn) {
    uint64_t completed = 0;
    NodeId donor = 0;
    for (const Answer& answer : answers_) {
        if (donor != 0 && answer.completed <= completed) continue;
        completed = answer.completed;
        donor = answer.node;
    }
    CommitView commit;
    commit.job = job_;
    commit.epoch = epoch_;
    commit.base_round = completed;
    commit.donor = donor;
    commit.behind = behind(completed);
    commit.members = members;
    commit.adoptions = adoptions;
    changing_ = false;
    view_ = View{epoch_, completed, std::move(members)};
    commit.nodes = nodes_of(view_.members);
    // A donor whose own members have all left is in the view no more, but is the only one to give
    // the last round's result.
    const bool donor_left =
        std::find(commit.nodes.begin(), commit.nodes.end(), donor) == commit.nodes.end();
    if (donor_left && !commit.behind.empty()) commit.nodes.push_back(donor);
    if (!commit.nodes.empty()) turn.act(std::move(commit));
}

}  // namespace pace::controller
