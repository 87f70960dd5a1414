#include "service/controller/core/adoptions.h"

#include <algorithm>

namespace pace::controller {
namespace {

bool is_among(Rank rank, std::span<const Member> members) {
    return std::any_of(members.begin(), members.end(),
                       [rank](const Member& m) { return m.rank == rank; });
}

}  // namespace

Rank Adoptions::donor_for(NodeId node, std::span<const Member> members,
                          const std::vector<Worker>& workers) const {
    Rank donor = kNoRank;
    for (const Member& member : members) {
        const Worker& worker = workers[member.rank];
        if (worker.state != WorkerState::member || worker.has_no_model) continue;
        if (is_pending(member.rank)) continue;
        if (member.node == node) return member.rank;
        if (donor == kNoRank) donor = member.rank;
    }
    return donor;
}

std::vector<Adoptions::Adoption> Adoptions::list(std::span<const Member> members,
                                                 const std::vector<Worker>& workers) {
    // Without newcomers there is nothing to look for, and that is the ordinary view change.
    std::erase_if(pending_, [&](const Adoption& a) { return !is_among(a.newcomer, members); });
    std::vector<Adoption> listed;
    for (const Adoption& adoption : pending_) {
        if (!is_among(adoption.donor, members)) listed.push_back({adoption.newcomer, kNoRank});
    }
    for (const Member& member : members) {
        const Worker& worker = workers[member.rank];
        if (worker.state == WorkerState::admitted && worker.wants_model &&
            !is_pending(member.rank)) {
            listed.push_back({member.rank, kNoRank});
        }
    }
    for (Adoption& adoption : listed) {
        adoption.donor = donor_for(workers[adoption.newcomer].node, members, workers);
    }
    for (const Adoption& adoption : listed) on_finished(adoption.newcomer);
    std::erase_if(listed, [](const Adoption& a) { return a.donor == kNoRank; });
    pending_.insert(pending_.end(), listed.begin(), listed.end());
    return pending_;
}

void Adoptions::on_finished(Rank newcomer) {
    std::erase_if(pending_, [newcomer](const Adoption& a) { return a.newcomer == newcomer; });
}

bool Adoptions::is_pending(Rank newcomer) const {
    return std::any_of(pending_.begin(), pending_.end(),
                       [newcomer](const Adoption& a) { return a.newcomer == newcomer; });
}

}  // namespace pace::controller
