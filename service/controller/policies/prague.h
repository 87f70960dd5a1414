// Prague: the paper's group generators and its baselines (Luo et al., ASPLOS 2020), built on
// PlannedGroups (planned_groups.h).
#pragma once

#include <utility>
#include <vector>

#include "base/random.h"
#include "service/controller/policies/inter_intra.h"
#include "service/controller/policies/planned_groups.h"

namespace pace::controller {

// Prague's random group generator (section 4.1): a worker in no group gets one with group_size - 1
// others drawn from all. With groups of two this is AD-PSGD (Lian et al., ICML 2018) on the
// complete graph (neighbour_pairs.h has other graphs), without the paper's two sets of workers: the
// order of the groups keeps workers from waiting in a circle.
class RandomGroups final : public PlannedGroups {
  public:
    RandomGroups(const JobOptions& options, uint64_t seed)
        : PlannedGroups(options), random_(seed) {}

  private:
    void plan(Rank requester) override;

    base::Random random_;
};

// Prague's smart group generator (section 5). A worker in no group starts a *global division*: all
// workers in no group are divided at random into groups of group_size, except those whose
// count of signals is `progress_gap` or more below the requester's. So a slow worker is in a
// group only when it asks, and never in one that a fast worker waits for.
//
// If several nodes have several such workers, or their nodes are in several zones, the division
// goes by place (inter_intra.h), and each worker gets two or three groups. Nodes of unknown zone
// count as one zone.
//
// A worker that would be alone joins an existing group without much slower members: the last one
// named. Where there are zones, the last one with a worker of the same zone is preferred.
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

// Local SGD with synchronous averaging (Stich, ICLR 2019): every group has all workers. The
// trainers decide how many steps lie between two averages.
class FullGroups final : public PlannedGroups {
  public:
    explicit FullGroups(const JobOptions& options) : PlannedGroups(options) {}

  private:
    void plan(Rank requester) override;
};

}  // namespace pace::controller
