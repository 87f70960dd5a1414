// The group generators of Prague (Luo et al., ASPLOS 2020) and its baselines, on what they share (planned_groups.h).
#pragma once

#include <utility>
#include <vector>

#include "base/random.h"
#include "service/controller/policies/inter_intra.h"
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
// Where several nodes have several such workers, or their nodes lie in several zones, they are divided by where they are
// (inter_intra.h), and get two or three groups each. Nodes of which no zone is known are taken for one zone.
//
// One who would be alone joins another group, if that has nobody who is much slower: the last one that was named; where
// there are zones, the last one with a worker of his.
class SmartGroups final : public PlannedGroups {
  public:
    SmartGroups(const JobOptions& options, uint64_t seed, ZoneOf zone_of)
        : PlannedGroups(options),
          progress_gap_(options.progress_gap),
          zone_of_(std::move(zone_of)),
          random_(seed),
          by_place_(group_size(), random_) {}

  private:
    void plan(Rank requester) override;
    bool is_near(Rank requester, Rank other) const;
    bool join_others(Rank requester);
    uint32_t zone_of(Rank rank) const { return zone_of_ ? zone_of_(node_of(rank)) : 0; }
    std::vector<Rank> idle_with(Rank requester) const;
    std::vector<std::vector<Rank>> by_node(const std::vector<Rank>& ranks) const;
    std::vector<InterIntra::Zone> by_zone(std::vector<std::vector<Rank>> nodes) const;
    std::vector<std::vector<Rank>> divided(std::vector<Rank> ranks);

    uint32_t progress_gap_;
    ZoneOf zone_of_;
    base::Random random_;
    InterIntra by_place_;
};

// Local SGD with synchronous averaging (Stich, ICLR 2019): everyone, each time. How many steps lie between is the trainers' affair.
class FullGroups final : public PlannedGroups {
  public:
    explicit FullGroups(const JobOptions& options) : PlannedGroups(options) {}

  private:
    void plan(Rank requester) override;
};

}  // namespace pace::controller
