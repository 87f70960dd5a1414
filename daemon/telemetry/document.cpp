#include "daemon/telemetry/document.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "protocol/nccl.h"

namespace pace::daemon {

using nlohmann::json;

namespace {

json clients_of(const DocumentSource& source) {
    json clients = json::array();
    for (const Client::Summary& client : source.clients) {
        json entry = {{"pid", client.process.pid},
                      {"uid", client.process.uid},
                      {"bytes", client.bytes},
                      {"buffers", client.buffers},
                      {"requests", client.requests}};
        if (client.seated) {
            entry["job"] = client.job;
            entry["rank"] = client.rank;
        }
        clients.push_back(std::move(entry));
    }
    return clients;
}

json shards_of(const DocumentSource& source) {
    json shards = json::array();
    for (const Engine::ShardSummary& shard : source.shards)
        shards.push_back({{"job", shard.job},
                          {"shard", shard.shard},
                          {"elements", shard.elements},
                          {"live_versions", shard.live_versions},
                          {"model_bytes", shard.memory.model},
                          {"versions_bytes", shard.memory.versions},
                          {"held_bytes", shard.memory.held}});
    return shards;
}

json waits_of(const DocumentSource& source) {
    json waits = json::array();
    for (const auto& [job, wait] : source.waits)
        waits.push_back({{"job", job},
                         {"rank", wait.rank},
                         {"call", protocol::name_of(wait.verb)},
                         {"waited_s", static_cast<double>(wait.waited_ns) / 1e9},
                         {"for", wait.what}});
    return waits;
}

json gpus_of(const DocumentSource& source) {
    json devices = json::array();
    for (const device::Devices::Summary& gpu : source.gpus) {
        json entry = {{"id", gpu.facts.id()},
                      {"name", gpu.facts.name},
                      {"bytes", gpu.facts.bytes},
                      {"compute_capability", fmt::format("{}.{}", gpu.facts.capability_major,
                                                         gpu.facts.capability_minor)},
                      {"peers", gpu.peers},
                      {"memory_by", gpu.facts.exports_descriptors ? "descriptor" : "handle"},
                      {"streams_by", gpu.facts.has_stream_words ? "words" : "events"},
                      {"open", gpu.open}};
        if (gpu.open) entry["free_bytes"] = gpu.free_bytes;
        if (gpu.open) entry["kernels"] = gpu.kernels;
        if (!gpu.refused.empty()) entry["unusable"] = gpu.refused;
        if (!gpu.shared_with.empty()) entry["shared_with"] = gpu.shared_with;
        devices.push_back(std::move(entry));
    }
    json gpus = {{"devices", std::move(devices)}};
    if (!source.gpus_absent.empty()) gpus["absent"] = source.gpus_absent;
    if (source.cuda_version != 0)
        gpus["driver_cuda"] = base::cuda::version_text(source.cuda_version);
    // To be changed when UCX moves GPU memory itself.
    constexpr std::string_view kThroughHost = "through pinned memory of the host";
    if (source.nccl != 0) {
        gpus["nccl"] = protocol::nccl_text(source.nccl);
        gpus["between_nodes"] = fmt::format(
            "by NCCL where all nodes of an exchange have the same, else {}", kThroughHost);
    } else {
        gpus["nccl_absent"] = source.nccl_absent;
        gpus["between_nodes"] = kThroughHost;
    }
    return gpus;
}

json counters_of(const Counters& counters) {
    return {{"requests", counters.requests},
            {"requests_failed", counters.requests_failed},
            {"rounds", counters.rounds},
            {"rounds_dense_instead", counters.rounds_dense_instead},
            {"groups", counters.groups},
            {"sums_among_gpus", counters.sums_among_gpus},
            {"sums_in_pieces", counters.sums_in_pieces},
            {"sums_on_device", counters.sums_on_device},
            {"top_k_on_device", counters.top_k_on_device},
            {"averages_in_results", counters.averages_in_results},
            {"gradients_late", counters.gradients_late},
            {"exchanges_aborted", counters.exchanges_aborted},
            {"adoptions", counters.adoptions},
            {"clients_accepted", counters.clients_accepted},
            {"clients_refused", counters.clients_refused},
            {"letters_refused", counters.letters_refused},
            {"bytes_sent", counters.bytes_sent},
            {"bytes_received", counters.bytes_received}};
}

json users_of(const DocumentSource& source) {
    json users = json::array();
    for (const auto& [user, used] : source.users)
        users.push_back({{"uid", user},
                         {"bytes", used.bytes},
                         {"buffers", used.buffers},
                         {"clients", used.clients},
                         {"descriptors", used.descriptors}});
    return users;
}

json limits_of(const DocumentSource& source) {
    return {{"client_bytes_max", source.limits.bytes_max},
            {"client_buffers_max", source.limits.buffers_max},
            {"clients_max", source.clients_max},
            {"user_bytes_max", source.accounts.user_bytes_max},
            {"user_buffers_max", source.accounts.user_buffers_max},
            {"user_clients_max", source.accounts.user_clients_max},
            {"memory_max", source.accounts.memory_max}};
}

json loop_of(const DocumentSource& source) {
    return {{"longest_ms", base::to_seconds(source.loop_longest.took) * 1e3},
            {"longest_callback", source.loop_longest.origin},
            {"long_callbacks", source.loop_long_steps},
            {"heartbeat_late_ms", base::to_seconds(source.heartbeat_late) * 1e3}};
}

}  // namespace

std::string daemon_document(const DocumentSource& source) {
    const bool embedded = source.controller.empty();
    const json document = {
        {"name", source.name},
        {"version", PACE_VERSION},
        {"pid", getpid()},
        {"uptime_s", base::to_seconds(base::now() - source.started)},
        {"socket", source.socket},
        {"controller",
         {{"endpoint", embedded ? "embedded" : source.controller},
          {"reachable", source.controller_reachable},
          {"embedded", embedded}}},
        {"controller_problem",
         source.controller_problem.empty() ? json() : json(source.controller_problem)},
        {"data",
         {{"transport", embedded ? "none" : source.transport},
          {"transports", embedded ? "" : source.transports},
          {"interface", source.devices},
          {"address_bytes", source.address_bytes},
          {"messages_unexpected", source.messages_unexpected}}},
        {"threads", source.threads},
        {"clients", clients_of(source)},
        {"users", users_of(source)},
        {"shards", shards_of(source)},
        {"waits", waits_of(source)},
        {"gpus", gpus_of(source)},
        {"limits", limits_of(source)},
        {"memory", {{"buffers", source.memory_used}}},
        {"counters", counters_of(source.counters)},
        {"loop", loop_of(source)},
    };
    return document.dump();
}

}  // namespace pace::daemon
