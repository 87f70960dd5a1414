#include "service/simulator/timing/static_schedule.h"

#include <algorithm>

namespace pace::simulator {

using controller::Rank;

namespace {

// The daemons' order: nodes in the order of their lowest ranks.
std::vector<std::vector<Rank>> ranks_by_node(const Scenario& scenario) {
    std::vector<std::vector<Rank>> by_node(scenario.nodes.size());
    for (Rank rank = 0; rank < scenario.world(); ++rank)
        by_node[scenario.workers[rank].node].push_back(rank);
    std::erase_if(by_node, [](const std::vector<Rank>& ranks) { return ranks.empty(); });
    std::sort(by_node.begin(), by_node.end(),
              [](const auto& a, const auto& b) { return a.front() < b.front(); });
    return by_node;
}

}  // namespace

StaticSchedule::StaticSchedule(const Scenario& scenario)
    : groups_(ranks_by_node(scenario)), calls_(scenario.world()) {}

// A worker that has called for a later turn has already finished the group of this turn, which
// needed this worker. So all members have called for this turn or for the turn before.
std::vector<Rank> StaticSchedule::call(Rank rank) {
    const uint64_t call = ++calls_[rank];
    std::vector<Rank> members = groups_.group_of(rank, call - 1);
    const bool complete = std::all_of(members.begin(), members.end(),
                                      [&](Rank member) { return calls_[member] == call; });
    if (!complete) members.clear();
    return members;
}

}  // namespace pace::simulator
