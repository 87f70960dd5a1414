#include "service/simulator/files/cluster_file.h"

#include <map>
#include <optional>

#include <fmt/format.h>

#include "service/simulator/files/distribution_file.h"
#include "service/simulator/model/zones.h"

namespace pace::simulator {

using base::Result;

namespace {

// The state while [[nodes]] and [[workers]] are read.
struct Reading {
    Scenario scenario;
    std::optional<uint32_t> usual_distribution;  // of [step]
    std::map<std::string, Node> machines;
};

// Returns the table's own distribution, if it has one.
Result<std::optional<uint32_t>> read_step(const FileTable& table, Scenario& ret_scenario) {
    if (!table.has("step")) return std::optional<uint32_t>();
    PACE_TRY_ASSIGN(step, table.table("step"));
    PACE_TRY_ASSIGN(distribution, read_distribution(step));
    ret_scenario.distributions.push_back(std::move(distribution));
    return std::optional<uint32_t>(static_cast<uint32_t>(ret_scenario.distributions.size() - 1));
}

// Returns a node's memory and link. If earlier nodes are on the same machine, these are the
// machine's.
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

// Reads the exceptions for some ranks. Ranks are counted through the nodes in their order.
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

Result<> read_network(const FileTable& file, Scenario& ret_scenario) {
    PACE_TRY_ASSIGN(table, file.table("network"));
    PACE_TRY(table.allow(
        {"latency_us", "controller_us", "between_zones_gbit", "between_zones_latency_us"}));
    PACE_TRY_ASSIGN(latency, table.number("latency_us", 0, 1e6, kLatencyUs));
    PACE_TRY_ASSIGN(order, table.number("controller_us", 0, 1e6, kControllerUs));
    ret_scenario.latency_s = latency * 1e-6;
    ret_scenario.controller_s = order * 1e-6;
    const bool has_rate = table.has("between_zones_gbit");
    if (!has_rate && !table.has("between_zones_latency_us")) return {};
    BetweenZones between;
    if (has_rate) {
        PACE_TRY_ASSIGN(gbit, table.number("between_zones_gbit", 0.001, 1e6));
        between.bytes_per_s = gbit * 1e9 / 8;
    }
    PACE_TRY_ASSIGN(far, table.number("between_zones_latency_us", 0, 1e6, latency));
    between.latency_s = far * 1e-6;
    ret_scenario.between_zones = between;
    return {};
}

// Each pair of zones has its own way.
Result<> check_zones(const FileTable& file, const Scenario& scenario) {
    const size_t zones = zones_of(scenario);
    if (!scenario.between_zones || zones <= kZonesMax) return {};
    return file.error("nodes", fmt::format("they are in {} zones; with a between_zones key in "
                                           "[network] give at most {}",
                                           zones, kZonesMax));
}

}  // namespace

Result<> read_cluster(const FileTable& file, Scenario& ret_scenario) {
    PACE_TRY(read_network(file, ret_scenario));
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
    return check_zones(file, ret_scenario);
}

}  // namespace pace::simulator
