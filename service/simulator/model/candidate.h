// Candidate: one way to run a job, which is tried: a policy and the other choices that decide how
// long updates take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/controller/vocabulary/options.h"

namespace pace::simulator {

struct Scenario;

struct Candidate {
    controller::Policy policy = controller::Policy::all_reduce;
    uint32_t group_size = 0;  // 0: everyone, the nodes' groups, or what auto chooses
    // For all-reduce.
    controller::Quorum quorum = controller::Quorum::all;
    uint32_t quorum_count = 0;  // for quorum count
    controller::Compression compression = controller::Compression::off;
    double density = 0;  // for compression spardl
    // For ssp.
    uint32_t staleness = 0;

    bool operator==(const Candidate&) const = default;
};

// Choices and their names, one by one.
template <typename Choice>
struct Words {
    std::vector<Choice> choices;
    std::vector<std::string_view> words;
};
Words<controller::Policy> simulated_policies();
Words<controller::Compression> simulated_compressions();

// The policies that are tried if the user names none. auto is not among them, because it chooses
// among some of them. A parameter server is not either, because it is another way to train.
std::vector<controller::Policy> usual_policies();

// The candidates that a scenario asks for. Policies come in the scenario's order, with group sizes
// in each. Then come quorums, compressions, and what the job does now, if it is not among them.
std::vector<Candidate> candidates_of(const Scenario& scenario);

// Whether a user chooses the policy's group size.
bool lets_choose_size(controller::Policy policy);

// The job's options. The scenario's options that the policy does not know are left out.
controller::JobOptions options_of(const Scenario& scenario, const Candidate& candidate);

// The options with which a user asks for the candidate, by the names of docs/options.md: policy,
// group.size.
std::vector<std::pair<std::string, std::string>> asked_by(const Candidate& candidate);

// "partial-reduce with groups of 3"
std::string text_of(const Candidate& candidate);

// The policy, and what distinguishes the candidate except the group size: "all-reduce, quorum 3".
std::string label_of(const Candidate& candidate);

}  // namespace pace::simulator
