// StaticSchedule: who meets whom by policy prague-static, among the workers of a simulation.
//
// A worker's calls are its turns; the group of a turn (protocol/static_groups.h) is complete when the last of its members
// has called for that turn. Nobody else is asked, so that neither a signal nor an order takes any time.
#pragma once

#include <vector>

#include "protocol/static_groups.h"
#include "service/simulator/scenario.h"

namespace pace::simulator {

class StaticSchedule {
  public:
    explicit StaticSchedule(const Scenario& scenario);

    // A worker that computes no more calls. The members of its group, itself included, if they have all called; else
    // nobody.
    std::vector<controller::Rank> call(controller::Rank rank);

  private:
    protocol::StaticGroups groups_;
    std::vector<uint64_t> calls_;  // by rank: the turn that it is in is one less
};

}  // namespace pace::simulator
