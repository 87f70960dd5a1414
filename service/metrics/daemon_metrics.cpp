#include <algorithm>
#include <array>

#include "service/metrics/metrics.h"

namespace pace::metrics {

namespace {

constexpr Family kDaemonInfo{"pace_daemon", Type::info, "", "A node's daemon."};
constexpr Family kDaemonUptime{"pace_daemon_uptime_seconds", Type::gauge, "seconds",
                               "Time since the daemon started."};
constexpr Family kDaemonReachable{"pace_daemon_controller_reachable", Type::gauge, "",
                                  "1 if the daemon hears its controller."};
constexpr Family kDaemonClients{"pace_daemon_clients", Type::gauge, "",
                                "Trainers and tools that are connected."};
constexpr Family kDaemonClientsMax{"pace_daemon_clients_limit", Type::gauge, "",
                                   "How many may be connected."};
constexpr Family kDaemonWaits{"pace_daemon_waiting_calls", Type::gauge, "",
                              "Calls that have waited for longer than wait_notice_ms."};
constexpr Family kDaemonBuffers{"pace_daemon_buffers_bytes", Type::gauge, "bytes",
                                "Memory that all users have the daemon keep."};
constexpr Family kDaemonMemoryMax{"pace_daemon_memory_limit_bytes", Type::gauge, "bytes",
                                  "Memory that all users together may have it keep."};
constexpr Family kDaemonUserBytes{"pace_daemon_user_bytes", Type::gauge, "bytes",
                                  "Memory that one user has the daemon keep."};
constexpr Family kDaemonUserMax{"pace_daemon_user_limit_bytes", Type::gauge, "bytes",
                                "Memory that one user may have it keep."};
constexpr Family kDaemonLongest{"pace_daemon_loop_longest_seconds", Type::gauge, "seconds",
                                "The longest that one callback has held up the event loop."};
constexpr Family kDaemonLong{"pace_daemon_loop_long_callbacks", Type::counter, "",
                             "Callbacks that held up the event loop for 50 ms or more."};
constexpr Family kDaemonLate{"pace_daemon_heartbeat_late_seconds", Type::gauge, "seconds",
                             "By how much the heartbeat that was latest came too late."};
constexpr Family kDaemonUnexpected{"pace_daemon_unexpected_messages", Type::counter, "",
                                   "Messages of the data plane that nobody awaited."};
constexpr Family kDaemonShard{"pace_shard_bytes", Type::gauge, "bytes",
                              "Memory of a shard that the node's daemon keeps, by kind."};

// A counter of the document. Its series has the same name.
struct DaemonCounter {
    const char* key;
    Family family;
};
constexpr std::array kDaemonCounters{
    DaemonCounter{"requests", {"pace_daemon_requests", Type::counter, "", "Requests of trainers."}},
    DaemonCounter{"requests_failed",
                  {"pace_daemon_requests_failed", Type::counter, "", "Requests that failed."}},
    DaemonCounter{"rounds",
                  {"pace_daemon_rounds", Type::counter, "", "Rounds of all members of a job."}},
    DaemonCounter{"rounds_dense_instead",
                  {"pace_daemon_rounds_dense_instead", Type::counter, "",
                   "Rounds of top-k that went dense, since that was expected to be faster."}},
    DaemonCounter{"groups",
                  {"pace_daemon_groups", Type::counter, "", "Groups that averaged here."}},
    DaemonCounter{"sums_among_gpus",
                  {"pace_daemon_sums_among_gpus", Type::counter, "", "Sums among GPUs, by NCCL."}},
    DaemonCounter{"sums_in_pieces",
                  {"pace_daemon_sums_in_pieces", Type::counter, "",
                   "Sums of buffers on GPUs that were copied while they travelled."}},
    DaemonCounter{"sums_on_device",
                  {"pace_daemon_sums_on_device", Type::counter, "",
                   "Sums of members on one GPU, by a kernel there."}},
    DaemonCounter{"top_k_on_device",
                  {"pace_daemon_top_k_on_device", Type::counter, "",
                   "Reductions by top-k whose gradient was cut on a GPU."}},
    DaemonCounter{"averages_in_results",
                  {"pace_daemon_averages_in_results", Type::counter, "",
                   "Averages that were formed where a member wants them."}},
    DaemonCounter{"gradients_late",
                  {"pace_daemon_gradients_late", Type::counter, "",
                   "Gradients that were handed in after their round had begun."}},
    DaemonCounter{
        "exchanges_aborted",
        {"pace_daemon_exchanges_aborted", Type::counter, "", "Exchanges that were aborted."}},
    DaemonCounter{"adoptions",
                  {"pace_daemon_adoptions", Type::counter, "",
                   "Trainers that took their predecessor's buffers."}},
    DaemonCounter{"clients_accepted",
                  {"pace_daemon_clients_accepted", Type::counter, "", "Clients that connected."}},
    DaemonCounter{"clients_refused",
                  {"pace_daemon_clients_refused", Type::counter, "",
                   "Clients that were sent away, for their number, their bytes or their errors."}},
    DaemonCounter{
        "letters_refused",
        {"pace_daemon_letters_refused", Type::counter, "",
         "Letters about models that other nodes were not to send, or that made no sense."}},
    DaemonCounter{"bytes_sent",
                  {"pace_daemon_sent_bytes", Type::counter, "bytes", "Bytes sent to other nodes."}},
    DaemonCounter{
        "bytes_received",
        {"pace_daemon_received_bytes", Type::counter, "bytes", "Bytes received from other nodes."}},
};

void add_memory(Exposition& metrics, const Json& daemon, const Labels& labels,
                const std::string& node) {
    const Json& limits = member(daemon, "limits");
    metrics.add(kDaemonBuffers, labels, number(member(daemon, "memory"), "buffers"));
    // 0 means that there is no bound except each user's.
    if (number(limits, "memory_max") > 0)
        metrics.add(kDaemonMemoryMax, labels, number(limits, "memory_max"));
    if (number(limits, "user_bytes_max") > 0)
        metrics.add(kDaemonUserMax, labels, number(limits, "user_bytes_max"));
    const Json& users = list(daemon, "users");
    for (size_t i = 0; i < std::min(users.size(), kUsersMax); ++i)
        metrics.add(kDaemonUserBytes, {{"node", node}, {"uid", text(users[i], "uid")}},
                    number(users[i], "bytes"));
}

void add_shards(Exposition& metrics, const Json& daemon, const std::string& node) {
    const Json& shards = list(daemon, "shards");
    for (size_t i = 0; i < std::min(shards.size(), kShardsMax); ++i)
        for (const auto& [field, kind] : {std::pair("model_bytes", "model"),
                                          {"versions_bytes", "versions"},
                                          {"held_bytes", "held"}})
            metrics.add(kDaemonShard,
                        {{"node", node},
                         {"pace_job", text(shards[i], "job")},
                         {"shard", text(shards[i], "shard")},
                         {"kind", kind}},
                        number(shards[i], field));
}

void add_loop(Exposition& metrics, const Json& loop, const Labels& labels) {
    metrics.add(kDaemonLongest, labels, number(loop, "longest_ms") / 1e3);
    metrics.add(kDaemonLong, labels, number(loop, "long_callbacks"));
    metrics.add(kDaemonLate, labels, number(loop, "heartbeat_late_ms") / 1e3);
}

}  // namespace

void add_daemon(Exposition& metrics, const Json& daemon) {
    const std::string node = text(daemon, "name");
    const Labels labels{{"node", node}};
    metrics.add(kDaemonInfo, {{"node", node}, {"version", text(daemon, "version")}}, 1);
    metrics.add(kDaemonUptime, labels, number(daemon, "uptime_s"));
    metrics.add(kDaemonReachable, labels, truth(member(daemon, "controller"), "reachable") ? 1 : 0);
    metrics.add(kDaemonClients, labels, static_cast<double>(list(daemon, "clients").size()));
    metrics.add(kDaemonClientsMax, labels, number(member(daemon, "limits"), "clients_max"));
    metrics.add(kDaemonWaits, labels, static_cast<double>(list(daemon, "waits").size()));
    metrics.add(kDaemonUnexpected, labels, number(member(daemon, "data"), "messages_unexpected"));
    add_memory(metrics, daemon, labels, node);
    add_loop(metrics, member(daemon, "loop"), labels);
    const Json& counters = member(daemon, "counters");
    for (const DaemonCounter& counter : kDaemonCounters)
        if (has_number(counters, counter.key))
            metrics.add(counter.family, labels, number(counters, counter.key));
    add_shards(metrics, daemon, node);
}

}  // namespace pace::metrics
