// Candidate: one way to run a job, to be tried: a policy with what else decides how long its updates take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/controller/core/options.h"

namespace pace::simulator {

struct Scenario;

struct Candidate {
    controller::Policy policy = controller::Policy::all_reduce;
    uint32_t group_size = 0;  // 0: everyone, as the nodes have it, or what auto chooses
    // Of all-reduce.
    controller::Quorum quorum = controller::Quorum::all;
    uint32_t quorum_count = 0;  // of quorum count
    controller::Compression compression = controller::Compression::off;
    double density = 0;  // of compression spardl
    // Of ssp.
    uint32_t staleness = 0;

    bool operator==(const Candidate&) const = default;
};

// Choices, and what they are called, one by one.
template <typename Choice>
struct Words {
    std::vector<Choice> choices;
    std::vector<std::string_view> words;
};
Words<controller::Policy> simulated_policies();
Words<controller::Compression> simulated_compressions();

// Those that are tried when nobody names any: neither auto, which chooses among some of them, nor a parameter server, which is
// another way to train.
std::vector<controller::Policy> usual_policies();

// What a scenario asks for: policies in its order, group sizes within; then quorums, compressions, and what the job does now, if
// it is not among them.
std::vector<Candidate> candidates_of(const Scenario& scenario);

// Whether a user chooses the policy's group size.
bool lets_choose_size(controller::Policy policy);

// The job's options; those of the scenario that the policy does not know are left out.
controller::JobOptions options_of(const Scenario& scenario, const Candidate& candidate);

// The options with which a user asks for it, by their names, as docs/options.md has them: policy, group.size.
std::vector<std::pair<std::string, std::string>> asked_by(const Candidate& candidate);

// "partial-reduce with groups of 3"
std::string text_of(const Candidate& candidate);

// The policy, and what sets the candidate apart but for its group size: "all-reduce, quorum 3".
std::string label_of(const Candidate& candidate);

}  // namespace pace::simulator
