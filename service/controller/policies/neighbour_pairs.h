// AD-PSGD (Lian et al., ICML 2018) on a communication graph: pairs of neighbours, on what the planned groups share
// (planned_groups.h). Without a graph, any two are neighbours, and RandomGroups of two are the same.
//
// Whoever is in no pair gets one with a neighbour drawn from those that are neither gone nor frozen. One whose neighbours all are
// gets its own model back at once, as if it were alone in the job: it waits for nobody, and goes on until one of them is back.
//
// The paper needs a bipartite graph, whose two sides take turns, to keep workers from waiting in a circle. Here the order of
// the plans does that, on any graph: the hub of a star takes its leaves one by one, in the order in which they asked.
#pragma once

#include <vector>

#include "base/random.h"
#include "service/controller/policies/planned_groups.h"

namespace pace::controller {

class NeighbourPairs final : public PlannedGroups {
  public:
    // Options as check() returns them, with edges.
    NeighbourPairs(const JobOptions& options, uint64_t seed);

  private:
    void plan(Rank requester) override;

    std::vector<std::vector<Rank>> neighbours_;  // by rank
    std::vector<Rank> present_;                  // scratch of plan
    base::Random random_;
};

}  // namespace pace::controller
