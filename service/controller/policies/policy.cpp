#include "service/controller/policies/policy.h"

#include <utility>

#include "service/controller/policies/neighbour_pairs.h"
#include "service/controller/policies/partial_reduce.h"
#include "service/controller/policies/prague.h"

namespace pace::controller {

std::unique_ptr<GroupPolicy> make_policy(const JobOptions& options, uint64_t seed, ZoneOf zone_of) {
    switch (options.policy) {
        case Policy::bsp:
        case Policy::ssp:
        case Policy::asp:
        case Policy::all_reduce:
        case Policy::prague_static:
        case Policy::automatic:  // chooses one of the others
            return nullptr;
        case Policy::partial_reduce:
            return std::make_unique<PartialReduce>(options);
        case Policy::ad_psgd:
            if (!options.edges.empty()) return std::make_unique<NeighbourPairs>(options, seed);
            return std::make_unique<RandomGroups>(options, seed);
        case Policy::prague_random:
            return std::make_unique<RandomGroups>(options, seed);
        case Policy::prague_smart:
            return std::make_unique<SmartGroups>(options, seed, std::move(zone_of));
        case Policy::full:
            return std::make_unique<FullGroups>(options);
    }
    return nullptr;
}

}  // namespace pace::controller
