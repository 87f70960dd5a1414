#include <algorithm>
#include <map>

#include "service/metrics/job_metrics.h"
#include "service/metrics/metrics.h"

namespace pace::metrics {

namespace {

constexpr Family kClusterController{"pace_controller", Type::info, "", "The controller."};
constexpr Family kClusterAlive{"pace_node_alive", Type::gauge, "",
                               "1 if the controller hears the node."};
constexpr Family kClusterSuspected{"pace_node_suspected", Type::gauge, "",
                                   "1 if the node is silent for longer than it used to be."};
constexpr Family kClusterSilent{"pace_node_silent_seconds", Type::gauge, "seconds",
                                "Time since the node was last heard."};
constexpr Family kClusterDraining{"pace_node_draining", Type::gauge, "",
                                  "1 if an operator drains the node."};
constexpr Family kClusterNodeWorkers{"pace_node_workers", Type::gauge, "", "Workers on the node."};
constexpr Family kClusterNode{"pace_node", Type::info, "", "A node, its version and its zone."};
constexpr Family kClusterNodes{"pace_nodes", Type::gauge, "", "Nodes, by status."};
constexpr Family kClusterJobs{"pace_jobs", Type::gauge, "", "Jobs, by state."};
constexpr Family kClusterCut{"pace_cut_links", Type::gauge, "",
                             "Pairs of nodes that get no bytes from each other."};
constexpr Family kClusterJournalFailed{"pace_journal_failed", Type::gauge, "",
                                       "1 if the controller cannot write its journal."};
constexpr Family kClusterJournalBytes{"pace_journal_size_bytes", Type::gauge, "bytes",
                                      "Size of the journal."};
constexpr Family kClusterJournalWaiting{"pace_journal_waiting_records", Type::gauge, "",
                                        "Records that are not written yet."};
constexpr Family kClusterMessages{"pace_controller_messages", Type::counter, "",
                                  "Messages of the control plane, by what became of them."};
constexpr Family kClusterViews{"pace_controller_views", Type::counter, "",
                               "Changes of jobs' memberships."};
constexpr Family kClusterSignals{"pace_controller_signals", Type::counter, "",
                                 "Ready signals of workers."};

using Names = std::map<uint64_t, std::string>;

std::string name_of(const Json& node) {
    const std::string name = text(node, "name");
    return name.empty() ? text(node, "node") : name;
}

Names names_of(const Json& status) {
    Names names;
    for (const Json& node : list(status, "nodes"))
        if (const Json& id = member(node, "node"); id.is_number_unsigned())
            names[id.get<uint64_t>()] = name_of(node);
    return names;
}

void add_node(Exposition& metrics, const Json& node) {
    const std::string name = name_of(node);
    const Labels labels{{"node", name}};
    const std::string status = text(node, "status");
    metrics.add(kClusterNode,
                {{"node", name}, {"version", text(node, "version")}, {"zone", text(node, "zone")}},
                1);
    metrics.add(kClusterAlive, labels, status == "alive" ? 1 : 0);
    metrics.add(kClusterSuspected, labels, status == "suspected" ? 1 : 0);
    metrics.add(kClusterSilent, labels, number(node, "silent_ms") / 1000);
    metrics.add(kClusterDraining, labels, truth(node, "draining") ? 1 : 0);
    metrics.add(kClusterNodeWorkers, labels, number(node, "workers"));
}

void add_nodes(Exposition& metrics, const Json& status) {
    const Json& nodes = list(status, "nodes");
    std::map<std::string, double> by_status{{"alive", 0}, {"suspected", 0}, {"gone", 0}};
    size_t left = kNodesMax;
    for (const Json& node : nodes) {
        const auto found = by_status.find(text(node, "status"));
        if (found != by_status.end()) found->second += 1;
        if (left == 0) continue;
        --left;
        add_node(metrics, node);
    }
    by_status["unlisted"] = number(status, "nodes_left_out");
    for (const auto& [name, count] : by_status)
        metrics.add(kClusterNodes, {{"status", name}}, count);
}

void add_journal(Exposition& metrics, const Json& journal) {
    if (!journal.is_object() || text(journal, "state") == "none") return;
    metrics.add(kClusterJournalFailed, {}, text(journal, "state") == "failed" ? 1 : 0);
    metrics.add(kClusterJournalBytes, {}, number(journal, "bytes"));
    metrics.add(kClusterJournalWaiting, {}, number(journal, "waiting"));
}

void add_messages(Exposition& metrics, const Json& status) {
    const Json& messages = member(status, "messages");
    for (const char* kind :
         {"received", "sent", "malformed", "unattached", "refused", "undeliverable"})
        metrics.add(kClusterMessages, {{"outcome", kind}}, number(messages, kind));
    metrics.add(kClusterSignals, {}, number(member(status, "counters"), "signals"));
    metrics.add(kClusterViews, {}, number(member(status, "counters"), "views"));
}

void add_jobs(Exposition& metrics, const Json& status) {
    const Names names = names_of(status);
    const Json& jobs = list(status, "jobs");
    std::map<std::string, double> by_state{{"joining", 0}, {"running", 0}, {"finished", 0}};
    for (const Json& job : jobs)
        if (const auto found = by_state.find(state_of_job(job)); found != by_state.end())
            found->second += 1;
    for (const auto& [state, count] : by_state)
        metrics.add(kClusterJobs, {{"state", state}}, count);
    size_t workers_left = kWorkersMax;
    for (size_t i = 0; i < std::min(jobs.size(), kJobsMax); ++i)
        add_job(metrics, jobs[i], names, workers_left);
}

}  // namespace

void add_cluster(Exposition& metrics, const Json& status) {
    metrics.add(kClusterController,
                {{"version", text(status, "version")}, {"protocol", text(status, "protocol")}}, 1);
    add_nodes(metrics, status);
    metrics.add(kClusterCut, {},
                static_cast<double>(list(status, "cut_links").size()) +
                    number(status, "cut_links_left_out"));
    add_journal(metrics, member(status, "journal"));
    add_messages(metrics, status);
    add_jobs(metrics, status);
}

}  // namespace pace::metrics
