// Candidate: a policy and group size to try.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "service/simulator/scenario.h"

namespace pace::simulator {

// A group size of 0: everyone, as the nodes have it, or what auto chooses; no choice of the user's.
struct Candidate {
    controller::Policy policy = controller::Policy::all_reduce;
    uint32_t group_size = 0;
    bool operator==(const Candidate&) const = default;
};

// All policies, and what they are called, one by one.
struct Choices {
    std::vector<controller::Policy> policies;
    std::vector<std::string_view> words;
};
Choices simulated_policies();

// Those that are tried when nobody names any: all but auto, which chooses among some of them.
std::vector<controller::Policy> usual_policies();

// What a scenario asks for: policies in its order, group sizes within.
std::vector<Candidate> candidates_of(const Scenario& scenario);

// Whether a user chooses the policy's group size.
bool lets_choose_size(controller::Policy policy);

// The job's options; those of the scenario that the policy does not know are left out.
controller::JobOptions options_of(const Scenario& scenario, const Candidate& candidate);

// "partial-reduce with groups of 3"
std::string text_of(const Candidate& candidate);

}  // namespace pace::simulator
