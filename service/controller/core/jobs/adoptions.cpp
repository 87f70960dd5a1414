#include "service/controller/core/jobs/adoptions.h"

#include <algorithm>

namespace pace::controller {
namespace {

bool is_among(Rank rank, std::span<const Member> members) {
    return std::any_of(members.begin(), members.end(),
                       [rank](const Member& m) { return m.rank == rank; });
}

}  // namespace

Adoptions::Donor Adoptions::donor_for(NodeId node, const Situation& view) const {
    Donor found;
    Rank newcomer = kNoRank;
    for (const Member& member : view.members) {
        const Worker& worker = view.workers[member.rank];
        if (is_pending(member.rank) || worker.wants_model) continue;
        const bool was_member = worker.state == WorkerState::member;
        found.members_exist = found.members_exist || was_member;
        if (view.without_model.contains(member.rank)) continue;
        Rank& first = was_member ? found.rank : newcomer;
        const bool is_nearer =
            first != kNoRank && member.node == node && view.workers[first].node != node;
        if (first == kNoRank || is_nearer) first = member.rank;
    }
    if (found.rank == kNoRank) found.rank = newcomer;
    return found;
}

// The newcomers that have asked for a model and have no donor in this view yet.
std::vector<Rank> Adoptions::asking(const Situation& view) const {
    std::vector<Rank> ranks;
    for (const Member& member : view.members) {
        const Worker& worker = view.workers[member.rank];
        const auto pending = std::find_if(pending_.begin(), pending_.end(), [&](const Adoption& a) {
            return a.newcomer == member.rank;
        });
        const bool is_new = worker.state == WorkerState::admitted && worker.wants_model;
        const bool has_lost_donor =
            pending != pending_.end() && !is_among(pending->donor, view.members);
        if (has_lost_donor || (is_new && pending == pending_.end())) ranks.push_back(member.rank);
    }
    return ranks;
}

Adoptions::Answer Adoptions::list(const Situation& view) {
    Answer answer;
    // A newcomer whose daemon knows its model has finished, though no heartbeat has said so yet.
    std::erase_if(pending_, [&](const Adoption& a) {
        return !is_among(a.newcomer, view.members) || !view.without_model.contains(a.newcomer);
    });
    // A view change without newcomers, the usual case, does no further work.
    const std::vector<Rank> ranks = asking(view);
    std::vector<Adoption> found;
    for (const Rank newcomer : ranks) {
        const Donor donor = donor_for(view.workers[newcomer].node, view);
        if (donor.rank != kNoRank) {
            found.push_back({newcomer, donor.rank});
        } else if (donor.members_exist && view.rounds_made) {
            answer.without_donor.push_back(newcomer);
        } else if (donor.members_exist) {
            answer.adoptions.push_back({newcomer, kNoRank});
        }
    }
    for (const Rank newcomer : ranks) on_finished(newcomer);
    pending_.insert(pending_.end(), found.begin(), found.end());
    const bool nobody_else =
        found.empty() && answer.without_donor.empty() && answer.adoptions.empty() && !ranks.empty();
    if (nobody_else) list_among_newcomers(ranks, view);
    answer.adoptions.insert(answer.adoptions.end(), pending_.begin(), pending_.end());
    return answer;
}

void Adoptions::list_among_newcomers(const std::vector<Rank>& asking, const Situation& view) {
    const Rank furthest = *std::max_element(asking.begin(), asking.end(), [&](Rank a, Rank b) {
        return view.workers[a].iteration < view.workers[b].iteration;
    });
    for (const Rank newcomer : asking)
        if (newcomer != furthest) pending_.push_back({newcomer, furthest});
}

void Adoptions::on_finished(Rank newcomer) {
    std::erase_if(pending_, [newcomer](const Adoption& a) { return a.newcomer == newcomer; });
}

bool Adoptions::is_pending(Rank newcomer) const {
    return std::any_of(pending_.begin(), pending_.end(),
                       [newcomer](const Adoption& a) { return a.newcomer == newcomer; });
}

}  // namespace pace::controller
