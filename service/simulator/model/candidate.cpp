#include "service/simulator/model/candidate.h"

#include <algorithm>

#include <fmt/format.h>

#include "service/simulator/model/scenario.h"

namespace pace::simulator {

using controller::Compression;
using controller::Family;
using controller::Policy;
using controller::Quorum;

namespace {

constexpr uint64_t kServerElementBytes = 4;  // a parameter server keeps float32

// The names of a choice whose numbers begin with 1.
template <typename Choice>
Words<Choice> all_of() {
    Words<Choice> all;
    const controller::Words words = words_of(Choice{});
    for (size_t i = 0; i < words.size(); ++i) {
        all.choices.push_back(static_cast<Choice>(i + 1));
        all.words.push_back(words[i]);
    }
    return all;
}

std::string quorum_word(const Candidate& candidate) {
    if (candidate.quorum == Quorum::count) return fmt::format("{}", candidate.quorum_count);
    return std::string(name_of(candidate.quorum));
}

void add_of_policy(const Scenario& scenario, Policy policy,
                   std::vector<Candidate>& ret_candidates) {
    Candidate candidate;
    candidate.policy = policy;
    if (policy == Policy::ad_psgd) candidate.group_size = 2;
    if (policy == Policy::ssp) {
        for (const uint32_t staleness : scenario.staleness) {
            candidate.staleness = staleness;
            ret_candidates.push_back(candidate);
        }
    } else if (lets_choose_size(policy)) {
        for (const uint32_t size : scenario.group_sizes) {
            candidate.group_size = size;
            ret_candidates.push_back(candidate);
        }
    } else {
        ret_candidates.push_back(candidate);
    }
}

void add_compressed(const Scenario& scenario, std::vector<Candidate>& ret_candidates) {
    for (const Compression compression : scenario.compressions) {
        Candidate candidate;
        candidate.compression = compression;
        if (!is_top_k(compression)) {
            ret_candidates.push_back(candidate);
            continue;
        }
        for (const double density : scenario.densities) {
            candidate.density = density;
            ret_candidates.push_back(candidate);
        }
    }
}

}  // namespace

Words<Policy> simulated_policies() {
    return all_of<Policy>();
}

Words<Compression> simulated_compressions() {
    Words<Compression> simulated;
    const Words<Compression> all = all_of<Compression>();
    for (size_t i = 0; i < all.choices.size(); ++i) {
        if (is_top_k(all.choices[i]) && all.choices[i] != Compression::spardl) continue;
        simulated.choices.push_back(all.choices[i]);
        simulated.words.push_back(all.words[i]);
    }
    return simulated;
}

std::vector<Policy> usual_policies() {
    std::vector<Policy> policies = simulated_policies().choices;
    std::erase_if(policies, [](Policy policy) {
        return policy == Policy::automatic || family_of(policy) == Family::server;
    });
    return policies;
}

std::vector<Candidate> candidates_of(const Scenario& scenario) {
    std::vector<Candidate> candidates;
    for (const Policy policy : scenario.policies) add_of_policy(scenario, policy, candidates);
    for (const auto& [quorum, count] : scenario.quorums) {
        Candidate candidate;
        candidate.quorum = quorum;
        candidate.quorum_count = count;
        candidates.push_back(candidate);
    }
    add_compressed(scenario, candidates);
    const auto& now = scenario.now;
    if (now && std::find(candidates.begin(), candidates.end(), *now) == candidates.end())
        candidates.push_back(*now);
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
    options.quorum = candidate.quorum;
    options.quorum_count = candidate.quorum_count;
    options.compression = candidate.compression;
    const controller::JobOptions defaults;
    if (is_top_k(options.compression)) options.density = candidate.density;
    if (options.policy == Policy::ssp) options.staleness = candidate.staleness;
    if (family_of(options.policy) == Family::server)
        options.elements =
            std::max<uint64_t>(static_cast<uint64_t>(scenario.bytes) / kServerElementBytes, 1);
    if (options.policy != Policy::partial_reduce) options.group_wait_ms = 0;
    if (options.policy != Policy::prague_smart) options.progress_gap = defaults.progress_gap;
    if (options.policy == Policy::prague_static || family_of(options.policy) != Family::averaging) {
        // The weights of static groups are constant, because nobody knows the members' iterations.
        options.weights = defaults.weights;
        options.missing = defaults.missing;
        options.alpha = defaults.alpha;
    }
    return options;
}

std::vector<std::pair<std::string, std::string>> asked_by(const Candidate& candidate) {
    std::vector<std::pair<std::string, std::string>> asked = {
        {"policy", std::string(name_of(candidate.policy))}};
    if (lets_choose_size(candidate.policy))
        asked.emplace_back("group.size", fmt::format("{}", candidate.group_size));
    if (candidate.quorum != Quorum::all)
        asked.emplace_back("quorum", std::string(name_of(candidate.quorum)));
    if (candidate.quorum == Quorum::count)
        asked.emplace_back("quorum.count", fmt::format("{}", candidate.quorum_count));
    if (candidate.compression != Compression::off)
        asked.emplace_back("compression", std::string(name_of(candidate.compression)));
    if (is_top_k(candidate.compression))
        asked.emplace_back("topk.density", fmt::format("{}", candidate.density));
    if (candidate.policy == Policy::ssp)
        asked.emplace_back("server.staleness", fmt::format("{}", candidate.staleness));
    return asked;
}

std::string text_of(const Candidate& candidate) {
    const std::string_view policy = name_of(candidate.policy);
    if (candidate.quorum != Quorum::all)
        return fmt::format("{} with quorum {}", policy, quorum_word(candidate));
    if (is_top_k(candidate.compression))
        return fmt::format("{} with {} of density {}", policy, name_of(candidate.compression),
                           candidate.density);
    if (candidate.compression != Compression::off)
        return fmt::format("{} in {}", policy, name_of(candidate.compression));
    if (candidate.policy == Policy::ssp)
        return fmt::format("{} with staleness {}", policy, candidate.staleness);
    if (candidate.group_size == 0) return std::string(policy);
    return fmt::format("{} with groups of {}", policy, candidate.group_size);
}

std::string label_of(const Candidate& candidate) {
    const std::string_view policy = name_of(candidate.policy);
    if (candidate.quorum != Quorum::all)
        return fmt::format("{}, quorum {}", policy, quorum_word(candidate));
    if (is_top_k(candidate.compression))
        return fmt::format("{}, {} {}", policy, name_of(candidate.compression), candidate.density);
    if (candidate.compression != Compression::off)
        return fmt::format("{}, {}", policy, name_of(candidate.compression));
    if (candidate.policy == Policy::ssp)
        return fmt::format("{}, staleness {}", policy, candidate.staleness);
    return std::string(policy);
}

}  // namespace pace::simulator
