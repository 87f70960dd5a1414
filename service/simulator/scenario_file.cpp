#include "service/simulator/scenario_file.h"

#include <algorithm>
#include <map>

#include "service/controller/core/job_options.h"
#include "service/controller/core/options.h"
#include "service/simulator/candidate.h"
#include "service/simulator/distribution_file.h"
#include "service/simulator/file_table.h"
#include "settings/sources.h"

namespace pace::simulator {

using base::ErrorKind;
using base::make_error;
using base::Result;
using controller::Policy;

namespace {

constexpr uint64_t kBytesMax = uint64_t{1} << 40U;
constexpr uint64_t kWorkersMax = 65536;  // as the controller has it
constexpr uint64_t kStepsMax = 10'000;

// Guesses, for who gives none: a cluster's Ethernet, a controller a few hops away.
constexpr double kLinkGbit = 10;
constexpr double kMemoryGbytesPerS = 10;
constexpr double kLatencyUs = 50;
constexpr double kControllerUs = 500;

constexpr uint32_t kGroupSizes[] = {2, 3, 4, 8, 16};

// Enough for two or three digits of small jobs, and no more than large ones can afford: so many
// updates of all workers together.
uint32_t usual_steps(uint64_t workers) {
    return static_cast<uint32_t>(std::clamp<uint64_t>(120'000 / workers, 12, 2'000));
}

// Words of a choice whose numbers begin with 1.
template <typename Choice>
Result<> read_choice(const FileTable& table, std::string_view key, Choice& ret_choice) {
    PACE_TRY_ASSIGN(index,
                    table.word(key, words_of(ret_choice), static_cast<size_t>(ret_choice) - 1));
    ret_choice = static_cast<Choice>(index + 1);
    return {};
}

Result<> read_size(const FileTable& table, Scenario& ret_scenario) {
    static constexpr std::string_view kTypes[] = {"f32", "f64", "f16", "bf16"};
    static constexpr double kTypeBytes[] = {4, 8, 2, 2};
    if (table.has("bytes")) {
        if (table.has("parameters") || table.has("dtype"))
            return table.error("bytes", "give either bytes, or parameters and dtype");
        PACE_TRY_ASSIGN(bytes, table.bytes("bytes", kBytesMax));
        ret_scenario.bytes = static_cast<double>(bytes);
        return {};
    }
    if (!table.has("parameters"))
        return table.error("bytes", "give the model's size, or parameters and dtype");
    PACE_TRY_ASSIGN(parameters, table.whole("parameters", 1, kBytesMax / 8));
    PACE_TRY_ASSIGN(type, table.word("dtype", kTypes, 0));
    ret_scenario.bytes = static_cast<double>(parameters) * kTypeBytes[type];
    return {};
}

Result<> read_job(const FileTable& file, Scenario& ret_scenario) {
    PACE_TRY_ASSIGN(table, file.table("job"));
    PACE_TRY(table.allow({"bytes", "parameters", "dtype", "weights", "alpha", "missing",
                          "group_wait_ms", "progress_gap"}));
    PACE_TRY(read_size(table, ret_scenario));
    controller::JobOptions& options = ret_scenario.options;
    PACE_TRY(read_choice(table, "weights", options.weights));
    PACE_TRY(read_choice(table, "missing", options.missing));
    PACE_TRY_ASSIGN(alpha, table.number("alpha", 0, 0.999, options.alpha));
    PACE_TRY_ASSIGN(wait, table.whole("group_wait_ms", 0, 3'600'000, 0));
    PACE_TRY_ASSIGN(gap, table.whole("progress_gap", 0, 1'000'000, 0));
    options.alpha = alpha;
    options.group_wait_ms = static_cast<uint32_t>(wait);
    if (gap != 0) options.progress_gap = static_cast<uint32_t>(gap);
    return {};
}

// What [[nodes]] and [[workers]] are read with.
struct Reading {
    Scenario scenario;
    std::optional<uint32_t> usual_distribution;  // of [step]
    std::map<std::string, Node> machines;
};

// The table's own distribution, if it has one.
Result<std::optional<uint32_t>> read_step(const FileTable& table, Scenario& ret_scenario) {
    if (!table.has("step")) return std::optional<uint32_t>();
    PACE_TRY_ASSIGN(step, table.table("step"));
    PACE_TRY_ASSIGN(distribution, read_distribution(step));
    ret_scenario.distributions.push_back(std::move(distribution));
    return std::optional<uint32_t>(static_cast<uint32_t>(ret_scenario.distributions.size() - 1));
}

// A node's memory and link; those of its machine, if earlier nodes are on the same one.
Result<Node> read_machine(const FileTable& table, double memory_bytes_per_s,
                          double link_bytes_per_s, Reading& ret_reading) {
    std::vector<Channel>& channels = ret_reading.scenario.channels;
    const auto next = static_cast<uint32_t>(channels.size());
    Node node{next, next + 1};
    if (table.has("machine")) {
        PACE_TRY_ASSIGN(name, table.text("machine", ""));
        if (name.empty()) return table.error("machine", "give the machine a name");
        node = ret_reading.machines.emplace(name, node).first->second;
    }
    if (node.memory == next) {
        channels.push_back({memory_bytes_per_s});
        channels.push_back({link_bytes_per_s});
    }
    if (channels[node.memory].bytes_per_s != memory_bytes_per_s ||
        channels[node.link].bytes_per_s != link_bytes_per_s)
        return table.error("machine",
                           "earlier nodes on it have another memory or link; give them the same "
                           "memory_gbytes_per_s and link_gbit");
    return node;
}

Result<> read_nodes(const FileTable& table, Reading& ret_reading) {
    PACE_TRY(table.allow({"count", "workers", "link_gbit", "memory_gbytes_per_s", "machine", "zone",
                          "slow", "step"}));
    Scenario& scenario = ret_reading.scenario;
    PACE_TRY_ASSIGN(count, table.whole("count", 1, kWorkersMax, 1));
    PACE_TRY_ASSIGN(workers, table.whole("workers", 1, kWorkersMax));
    PACE_TRY_ASSIGN(gbit, table.number("link_gbit", 0.001, 1e6, kLinkGbit));
    PACE_TRY_ASSIGN(memory, table.number("memory_gbytes_per_s", 0.001, 1e6, kMemoryGbytesPerS));
    PACE_TRY_ASSIGN(zone, table.text("zone", ""));
    PACE_TRY_ASSIGN(slow, table.number("slow", 0.001, 1e3, 1));
    PACE_TRY_ASSIGN(own, read_step(table, scenario));
    if (!own && !ret_reading.usual_distribution)
        return table.error("step", "give the nodes one, or [step] for all");
    if (scenario.workers.size() + count * workers > kWorkersMax)
        return table.error("workers", fmt::format("the file has more than {} workers in all; "
                                                  "give fewer",
                                                  kWorkersMax));
    const uint32_t distribution = own ? *own : *ret_reading.usual_distribution;
    for (uint64_t node = 0; node < count; ++node) {
        const auto index = static_cast<uint32_t>(scenario.nodes.size());
        PACE_TRY_ASSIGN(machine, read_machine(table, memory * 1e9, gbit * 1e9 / 8, ret_reading));
        machine.zone = zone;
        scenario.nodes.push_back(machine);
        for (uint64_t worker = 0; worker < workers; ++worker)
            scenario.workers.push_back({index, distribution, slow});
    }
    return {};
}

// Exceptions: some ranks, counted through the nodes in their order.
Result<> read_workers(const FileTable& table, Scenario& ret_scenario) {
    PACE_TRY(table.allow({"ranks", "slow", "step"}));
    PACE_TRY_ASSIGN(ranks, table.wholes("ranks", 0, ret_scenario.workers.size() - 1));
    PACE_TRY_ASSIGN(slow, table.number("slow", 0.001, 1e3, 1));
    PACE_TRY_ASSIGN(own, read_step(table, ret_scenario));
    for (const uint64_t rank : ranks) {
        Worker& worker = ret_scenario.workers[rank];
        if (own) worker.distribution = *own;
        if (table.has("slow")) worker.slow = slow;
    }
    return {};
}

Result<> read_cluster(const FileTable& file, Scenario& ret_scenario) {
    PACE_TRY_ASSIGN(network, file.table("network"));
    PACE_TRY(network.allow({"latency_us", "controller_us"}));
    PACE_TRY_ASSIGN(latency, network.number("latency_us", 0, 1e6, kLatencyUs));
    PACE_TRY_ASSIGN(order, network.number("controller_us", 0, 1e6, kControllerUs));
    ret_scenario.latency_s = latency * 1e-6;
    ret_scenario.controller_s = order * 1e-6;
    Reading reading{std::move(ret_scenario), {}, {}};
    PACE_TRY_ASSIGN(usual, read_step(file, reading.scenario));
    reading.usual_distribution = usual;
    PACE_TRY_ASSIGN(nodes, file.tables("nodes"));
    for (const FileTable& table : nodes) PACE_TRY(read_nodes(table, reading));
    ret_scenario = std::move(reading.scenario);
    if (ret_scenario.world() < 2)
        return file.error("nodes", fmt::format("there are {} workers in all; give at least 2, that "
                                               "there is something to average",
                                               ret_scenario.world()));
    PACE_TRY_ASSIGN(workers, file.tables("workers"));
    for (const FileTable& table : workers) PACE_TRY(read_workers(table, ret_scenario));
    return {};
}

Result<> read_try(const FileTable& file, Scenario& ret_scenario) {
    PACE_TRY_ASSIGN(table, file.table("try"));
    PACE_TRY(table.allow({"policies", "group_sizes"}));
    const Choices known = simulated_policies();
    ret_scenario.policies = usual_policies();
    if (table.has("policies")) {
        PACE_TRY_ASSIGN(given, table.words("policies", known.words));
        ret_scenario.policies.clear();
        for (const size_t index : given) ret_scenario.policies.push_back(known.policies[index]);
    }
    if (table.has("group_sizes")) {
        PACE_TRY_ASSIGN(sizes, table.wholes("group_sizes", 2, ret_scenario.world()));
        ret_scenario.group_sizes.assign(sizes.begin(), sizes.end());
        return {};
    }
    for (const uint32_t size : kGroupSizes)
        if (size == 2 || size < ret_scenario.world()) ret_scenario.group_sizes.push_back(size);
    return {};
}

Result<> read_run(const FileTable& file, Scenario& ret_scenario) {
    PACE_TRY_ASSIGN(table, file.table("run"));
    PACE_TRY(table.allow({"steps", "seed"}));
    PACE_TRY_ASSIGN(steps, table.whole("steps", 5, kStepsMax, usual_steps(ret_scenario.world())));
    PACE_TRY_ASSIGN(seed, table.whole("seed", 0, INT64_MAX, 1));
    ret_scenario.steps = static_cast<uint32_t>(steps);
    ret_scenario.seed = seed;
    return {};
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view document, std::string_view file) {
    PACE_TRY_ASSIGN(parsed, settings::parse_toml(document, file));
    const FileTable table(&parsed, "", std::string(file));
    PACE_TRY(table.allow({"job", "step", "network", "nodes", "workers", "try", "run"}));
    Scenario scenario;
    PACE_TRY(read_job(table, scenario));
    PACE_TRY(read_cluster(table, scenario));
    PACE_TRY(read_try(table, scenario));
    PACE_TRY(read_run(table, scenario));
    PACE_TRY(check_candidates(scenario));
    return scenario;
}

Result<Scenario> read_scenario(const std::string& path) {
    PACE_TRY_ASSIGN(document, settings::read_document(path));
    return parse_scenario(document, path);
}

Result<> check_candidates(const Scenario& scenario) {
    for (const Candidate& candidate : candidates_of(scenario)) {
        if (candidate.policy == Policy::all_reduce) continue;
        PACE_TRY(controller::check(options_of(scenario, candidate)));
    }
    return {};
}

}  // namespace pace::simulator
