// The group generators of Prague (Luo et al., ASPLOS 2020) and its baselines, on what they share (planned_groups.h).
#pragma once

#include <vector>

#include "base/random.h"
#include "service/controller/policies/planned_groups.h"

namespace pace::controller {

// Prague's random group generator (section 4.1): whoever is in no group gets one with group_size - 1 others drawn from all.
// With groups of two it is AD-PSGD (Lian et al., ICML 2018) on the complete graph (neighbour_pairs.h has the others), without its
// two sets of workers: the order of the groups is what keeps them from waiting in a circle.
class RandomGroups final : public PlannedGroups {
  public:
    RandomGroups(const JobOptions& options, uint64_t seed)
        : PlannedGroups(options), random_(seed) {}

  private:
    void plan(Rank requester) override;

    base::Random random_;
};

// Prague's smart group generator (section 5). Whoever is in no group starts a *global division*: all who are in none, and have
// not signalled `progress_gap` times less than it, are divided at random into groups of group_size. So a slow worker
// is in a group only when it asks, and in none that a fast one waits for.
//
// Where several nodes have several such workers, each gets two groups (*inter-intra*): first one of the nodes' *head
// workers*, with the others in groups within their node, then one of all workers of its node.
//
// One who would be alone joins another group: the last one that was named, if that has nobody who is much slower. In the first phase that is its node's head worker's: its node sends one stream
// whether one or two of its workers are in a group.
class SmartGroups final : public PlannedGroups {
  public:
    SmartGroups(const JobOptions& options, uint64_t seed)
        : PlannedGroups(options), progress_gap_(options.progress_gap), random_(seed) {}

  private:
    void plan(Rank requester) override;
    bool is_near(Rank requester, Rank other) const;
    bool join_others(Rank requester);
    std::vector<Rank> idle_with(Rank requester) const;
    std::vector<std::vector<Rank>> divide(std::vector<Rank> ranks);
    std::vector<std::vector<Rank>> by_node(const std::vector<Rank>& ranks) const;
    void plan_inter_intra(std::vector<std::vector<Rank>> nodes);

    uint32_t progress_gap_;
    base::Random random_;
};

// Local SGD with synchronous averaging (Stich, ICLR 2019): everyone, each time. How many steps lie between is the trainers' affair.
class FullGroups final : public PlannedGroups {
  public:
    explicit FullGroups(const JobOptions& options) : PlannedGroups(options) {}

  private:
    void plan(Rank requester) override;
};

}  // namespace pace::controller
