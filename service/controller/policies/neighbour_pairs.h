// NeighbourPairs: AD-PSGD (Lian et al., ICML 2018) on a communication graph, built on PlannedGroups
// (planned_groups.h). Without a graph any two workers are neighbours, and RandomGroups of two do
// the same.
//
// A worker in no pair is paired with a random neighbour that is neither gone nor frozen. If all its
// neighbours are gone or frozen, the worker gets its own model back at once, as if it were alone in
// the job. It waits for nobody and continues in this way until a neighbour is back.
//
// The paper needs a bipartite graph, whose two sides take turns, to keep workers from waiting in a
// circle. Here the order of the plans prevents such circles on any graph: the hub of a star takes
// its leaves one by one, in the order of their requests.
#pragma once

#include <vector>

#include "base/random.h"
#include "service/controller/policies/planned_groups.h"

namespace pace::controller {

class NeighbourPairs final : public PlannedGroups {
  public:
    // Takes options as check() returns them, with edges.
    NeighbourPairs(const JobOptions& options, uint64_t seed);

  private:
    void plan(Rank requester) override;

    std::vector<std::vector<Rank>> neighbours_;  // by rank
    std::vector<Rank> present_;                  // scratch of plan
    base::Random random_;
};

}  // namespace pace::controller
