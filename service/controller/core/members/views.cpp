#include "service/controller/core/members/views.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/each_once.h"
#include "service/controller/core/journal/journal_record.h"

namespace pace::controller {

std::vector<NodeId> nodes_of(std::span<const Member> members) {
    std::vector<NodeId> nodes;
    nodes.reserve(members.size());
    for (const Member& member : members) nodes.push_back(member.node);
    base::sort_each_once(nodes);
    return nodes;
}

void Views::begin(std::span<const NodeId> nodes, const Turn& turn) {
    ++epoch_;
    changing_ = true;
    since_ = turn.now;
    awaited_ = nodes.size();
    answers_.clear();
    without_model_.clear();
    turn.act(JournalAppend{encode(EpochRecord{job_, epoch_})});
    for (const NodeId node : nodes) {
        answers_.push_back({.node = node});
        turn.tell(node, PrepareView{job_, epoch_, token_, run_began_});
    }
}

// A node that is not in the view may remember rounds of an earlier time of the job, before all of
// its workers died and it began anew. A restarted controller has no view: then every node counts.
bool Views::counts(const Answer& answer) const {
    const auto& members = view_.members;
    return members.empty() || answer.result_epoch >= view_.epoch ||
           std::binary_search(holders_.begin(), holders_.end(), answer.node) ||
           std::any_of(members.begin(), members.end(),
                       [&](const Member& member) { return member.node == answer.node; });
}

// The donor: the first of the nodes that have completed the most rounds. Among them it prefers
// nodes with the last result of the latest view, then nodes that all others can reach.
Views::Answer Views::find_donor(const std::set<NodeId>& left_out) const {
    const auto rank = [&](const Answer& answer) {
        return std::tuple(counts(answer), answer.completed, answer.result_epoch,
                          !left_out.contains(answer.node));
    };
    const auto later = [&](const Answer& a, const Answer& b) { return rank(a) < rank(b); };
    const auto donor = std::max_element(answers_.begin(), answers_.end(), later);
    return donor != answers_.end() ? *donor : Answer{};
}

// Whether the node took part in the last round but lacks its result, which the donor has.
bool Views::is_behind(const Answer& answer, const Answer& donor) {
    return donor.result_epoch != 0 && answer.completed + 1 == donor.completed &&
           answer.round_epoch == donor.result_epoch;
}

// All nodes that answered count, not only those of the old view: a restarted controller has no old
// view.
std::vector<NodeId> Views::behind(const Answer& donor) const {
    std::vector<NodeId> nodes;
    for (const Answer& answer : answers_)
        if (is_behind(answer, donor)) nodes.push_back(answer.node);
    return nodes;
}

std::vector<NodeId> Views::left_behind(const std::set<NodeId>& left_out) const {
    const Answer donor = find_donor(left_out);
    std::vector<NodeId> nodes;
    for (const Answer& answer : answers_)
        if (answer.completed < donor.completed && !is_behind(answer, donor))
            nodes.push_back(answer.node);
    return nodes;
}

bool Views::has_gone_on() const {
    return std::ranges::any_of(view_.members, [this](const Member& member) {
        const size_t index = index_of(member.node);
        return index != answers_.size() && answers_[index].completed > view_.base_round;
    });
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

void Views::on_prepared(const From<ViewPrepared>& event) {
    if (!changing_ || event.epoch != epoch_) return;
    const size_t index = index_of(event.node);
    if (index == answers_.size() || answers_[index].given) return;
    answers_[index].given = true;
    answers_[index].completed = event.completed;
    answers_[index].round_epoch = event.round_epoch;
    answers_[index].result_epoch = event.result_epoch;
    without_model_.insert(event.without_model.begin(), event.without_model.end());
    --awaited_;
}

NodeId Views::first_awaited() const {
    const auto it =
        std::find_if(answers_.begin(), answers_.end(), [](const Answer& a) { return !a.given; });
    return changing_ && it != answers_.end() ? it->node : 0;
}

// `commit` has the members' nodes so far.
void Views::find_holders(const Answer& donor, const To<CommitView>& commit) {
    holders_.clear();
    const auto is_member = [&commit](NodeId node) {
        return std::binary_search(commit.to.begin(), commit.to.end(), node);
    };
    if (std::ranges::none_of(commit.behind, is_member)) return;
    for (const Answer& answer : answers_)
        if (answer.completed == donor.completed && answer.result_epoch == donor.result_epoch &&
            !is_member(answer.node))
            holders_.push_back(answer.node);
}

To<CommitView> Views::commit(std::vector<Member> members, const std::vector<Adoption>& adoptions,
                             const std::set<NodeId>& left_out) {
    const Answer donor = find_donor(left_out);
    To<CommitView> commit;
    commit.job = job_;
    commit.epoch = epoch_;
    commit.base_round = donor.completed;
    commit.donor = donor.node;
    commit.behind = behind(donor);
    commit.members = members;
    commit.adoptions = adoptions;
    changing_ = false;
    view_ = View{epoch_, donor.completed, std::move(members)};
    commit.to = nodes_of(view_.members);
    find_holders(donor, commit);
    if (tells_leavers_ && !commit.to.empty()) {
        for (const Answer& answer : answers_)
            if (!std::binary_search(commit.to.begin(), commit.to.end(), answer.node))
                commit.leavers.push_back(answer.node);
        commit.to.insert(commit.to.end(), commit.leavers.begin(), commit.leavers.end());
    }
    // A donor whose own members have all left is no longer in the view, but only the donor can give
    // the last round's result.
    const bool donor_left =
        std::find(commit.to.begin(), commit.to.end(), donor.node) == commit.to.end();
    if (donor_left && !commit.behind.empty()) commit.to.push_back(donor.node);
    return commit;
}

}  // namespace pace::controller
