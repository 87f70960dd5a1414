// StaticSchedule: which workers of a simulation meet under policy prague-static.
//
// A worker's calls are its turns. The group of a turn (protocol/static_groups.h) is complete when
// the last of its members has called for the turn. Nobody else is asked, so neither a signal nor an
// order takes any time.
#pragma once

#include <vector>

#include "protocol/static_groups.h"
#include "service/simulator/model/scenario.h"

namespace pace::simulator {

class StaticSchedule {
  public:
    explicit StaticSchedule(const Scenario& scenario);

    // Called for a worker that has finished computing. Returns the members of its group, itself
    // included, if they have all called. Otherwise returns nobody.
    std::vector<controller::Rank> call(controller::Rank rank);

  private:
    protocol::StaticGroups groups_;
    std::vector<uint64_t> calls_;  // by rank: one more than the worker's present turn
};

}  // namespace pace::simulator
