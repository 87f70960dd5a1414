#include "service/simulator/candidate.h"

#include <fmt/format.h>

#include "service/controller/core/options.h"

namespace pace::simulator {

using controller::Policy;

Choices simulated_policies() {
    Choices choices;
    const controller::Words words = words_of(Policy{});
    for (size_t i = 0; i < words.size(); ++i) {
        const auto policy = static_cast<Policy>(i + 1);
        if (family_of(policy) == controller::Family::server) continue;  // not simulated
        choices.policies.push_back(policy);
        choices.words.push_back(words[i]);
    }
    return choices;
}

std::vector<Policy> usual_policies() {
    std::vector<Policy> policies = simulated_policies().policies;
    std::erase(policies, Policy::automatic);
    return policies;
}

std::vector<Candidate> candidates_of(const Scenario& scenario) {
    std::vector<Candidate> candidates;
    for (const Policy policy : scenario.policies) {
        if (policy == Policy::ad_psgd) {
            candidates.push_back({policy, 2});
        } else if (!lets_choose_size(policy)) {
            candidates.push_back({policy, 0});
        } else {
            for (const uint32_t size : scenario.group_sizes) candidates.push_back({policy, size});
        }
    }
    return candidates;
}

bool lets_choose_size(Policy policy) {
    return policy == Policy::partial_reduce || policy == Policy::prague_random ||
           policy == Policy::prague_smart;
}

controller::JobOptions options_of(const Scenario& scenario, const Candidate& candidate) {
    controller::JobOptions options = scenario.options;
    options.name = "simulated";
    options.world = scenario.world();
    options.policy = candidate.policy;
    options.group_size = candidate.group_size;
    const controller::JobOptions defaults;
    if (options.policy != Policy::partial_reduce) options.group_wait_ms = 0;
    if (options.policy != Policy::prague_smart) options.progress_gap = defaults.progress_gap;
    if (options.policy == Policy::prague_static) {
        // Its weights are constant: nobody knows the members' iterations.
        options.weights = defaults.weights;
        options.missing = defaults.missing;
        options.alpha = defaults.alpha;
    }
    return options;
}

std::string text_of(const Candidate& candidate) {
    if (candidate.group_size == 0) return std::string(name_of(candidate.policy));
    return fmt::format("{} with groups of {}", name_of(candidate.policy), candidate.group_size);
}

}  // namespace pace::simulator
