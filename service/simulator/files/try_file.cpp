#include "service/simulator/files/try_file.h"

#include <fmt/format.h>

#include "service/simulator/files/try_words.h"
#include "service/simulator/model/candidate.h"

namespace pace::simulator {

using base::Result;
using controller::Policy;
using controller::Quorum;

namespace {

constexpr uint32_t kGroupSizes[] = {2, 3, 4, 8, 16};
constexpr double kDensity = 0.01;  // the default of docs/options.md
constexpr uint32_t kStaleness = 3;
constexpr uint64_t kStalenessMax = 1'000'000;

using AskedQuorum = std::pair<Quorum, uint32_t>;

// Reads a quorum's word or number. The word "all" is not among them, because it is plain
// all-reduce. The word "count" is not either, because a count is given as a number.
Result<AskedQuorum> quorum_of(const FileTable& table, std::string_view key, const toml::node& node,
                              uint32_t world) {
    if (node.is_integer()) {
        PACE_TRY_ASSIGN(count, table.whole_of(key, &node, 1, world));
        return AskedQuorum(Quorum::count, static_cast<uint32_t>(count));
    }
    if (node.is_string())
        if (const auto quorum = quorum_named(node.as_string()->get()))
            return AskedQuorum(*quorum, 0);
    return table.error(key, fmt::format("give solo, majority, majority-strict, or a number of "
                                        "workers from 1 to {}",
                                        world));
}

Result<> read_policies(const FileTable& table, Scenario& ret_scenario) {
    if (table.has("policies")) {
        const Words<Policy> known = simulated_policies();
        PACE_TRY_ASSIGN(given, table.words("policies", known.words));
        ret_scenario.policies.clear();
        for (const size_t index : given) ret_scenario.policies.push_back(known.choices[index]);
    }
    if (table.has("group_sizes")) {
        PACE_TRY_ASSIGN(sizes, table.wholes("group_sizes", 2, ret_scenario.world()));
        ret_scenario.group_sizes.assign(sizes.begin(), sizes.end());
    }
    if (table.has("staleness")) {
        PACE_TRY_ASSIGN(staleness, table.wholes("staleness", 0, kStalenessMax));
        ret_scenario.staleness.assign(staleness.begin(), staleness.end());
    }
    return {};
}

Result<> read_now_of_rounds(const FileTable& table, uint32_t world, Candidate& ret_now) {
    if (const toml::node* node = table.find("quorum"); node != nullptr) {
        PACE_TRY_ASSIGN(quorum, quorum_of(table, "quorum", *node, world));
        ret_now.quorum = quorum.first;
        ret_now.quorum_count = quorum.second;
    }
    const auto known = simulated_compressions();
    PACE_TRY_ASSIGN(compression, table.word("compression", known.words, 0));
    ret_now.compression = known.choices[compression];
    if (!is_top_k(ret_now.compression)) return {};
    PACE_TRY_ASSIGN(density, table.number("density", kDensityMin, 1, kDensity));
    ret_now.density = density;
    return {};
}

}  // namespace

void try_usual(uint32_t world, Scenario& ret_scenario) {
    ret_scenario.policies = usual_policies();
    ret_scenario.densities = {kDensity};
    ret_scenario.staleness = {kStaleness};
    for (const uint32_t size : kGroupSizes)
        if (size == 2 || size < world) ret_scenario.group_sizes.push_back(size);
}

Result<> read_now(const FileTable& file, Scenario& ret_scenario) {
    if (!file.has("now")) return {};
    PACE_TRY_ASSIGN(table, file.table("now"));
    PACE_TRY(
        table.allow({"policy", "group_size", "quorum", "compression", "density", "staleness"}));
    const Words<Policy> known = simulated_policies();
    PACE_TRY_ASSIGN(policy, table.word("policy", known.words, 0));
    Candidate now;
    now.policy = known.choices[policy];
    if (lets_choose_size(now.policy)) {
        PACE_TRY_ASSIGN(size, table.whole("group_size", 2, ret_scenario.world()));
        now.group_size = static_cast<uint32_t>(size);
    }
    if (now.policy == Policy::ad_psgd) now.group_size = 2;
    if (now.policy == Policy::all_reduce)
        PACE_TRY(read_now_of_rounds(table, ret_scenario.world(), now));
    if (now.policy == Policy::ssp) {
        PACE_TRY_ASSIGN(staleness, table.whole("staleness", 0, kStalenessMax, kStaleness));
        now.staleness = static_cast<uint32_t>(staleness);
    }
    ret_scenario.now = now;
    return {};
}

Result<> read_try(const FileTable& file, Scenario& ret_scenario) {
    PACE_TRY_ASSIGN(table, file.table("try"));
    PACE_TRY(table.allow(
        {"policies", "group_sizes", "quorums", "compressions", "densities", "staleness"}));
    try_usual(ret_scenario.world(), ret_scenario);
    PACE_TRY(read_policies(table, ret_scenario));
    if (table.has("quorums")) {
        PACE_TRY_ASSIGN(items, table.items("quorums"));
        for (const toml::node* node : items) {
            PACE_TRY_ASSIGN(quorum, quorum_of(table, "quorums", *node, ret_scenario.world()));
            ret_scenario.quorums.push_back(quorum);
        }
    }
    if (table.has("compressions")) {
        const auto known = simulated_compressions();
        PACE_TRY_ASSIGN(given, table.words("compressions", known.words));
        for (const size_t index : given) ret_scenario.compressions.push_back(known.choices[index]);
    }
    if (table.has("densities")) {
        PACE_TRY_ASSIGN(densities, table.numbers("densities", kDensityMin, 1));
        ret_scenario.densities = densities;
    }
    return {};
}

}  // namespace pace::simulator
