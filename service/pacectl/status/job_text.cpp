#include "service/pacectl/status/job_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "service/pacectl/columns/columns.h"
#include "service/pacectl/facts/job_facts.h"
#include "service/pacectl/facts/job_told.h"
#include "service/pacectl/facts/node_names.h"
#include "service/pacectl/status/model_text.h"
#include "service/pacectl/status/worker_text.h"

namespace pace::pacectl {

namespace {

constexpr size_t kMembersNamed = 64;  // per group

std::string members_text(const Json& group) {
    std::string members;
    size_t named = 0;
    for (const Json& part : list(group, "members")) {
        if (named == kMembersNamed) break;
        ++named;
        if (!members.empty()) members += ' ';
        members += fmt::format("{}@{}×{:.2f}", text(part, "rank"), text(part, "iteration"),
                               number(part, "weight"));
    }
    const uint64_t size = count(group, "size");
    if (size > named) members += fmt::format(" … {} more", size - named);
    return members;
}

// Why the group failed; "" if it has not failed.
std::string failure_text(const Json& group) {
    if (!member(group, "reason").is_string()) return {};
    return fmt::format("  group {} failed: {}\n", text(group, "group"), text(group, "reason"));
}

std::string groups_text(const Json& job, size_t limit) {
    const Json& groups = list(job, "recent_groups");
    if (groups.empty() || limit == 0) return {};
    std::string failures;
    Columns columns({">GROUP", "STATE", ">AGO", ">MOVING", ">SENT", "RANK@ITERATION×WEIGHT"});
    for (size_t i = groups.size() - std::min(groups.size(), limit); i < groups.size(); ++i) {
        const Json& group = groups[i];
        columns.add({text(group, "group"), text(group, "state"),
                     duration_text(number(group, "ordered_ms_ago", -1)),
                     duration_text(number(group, "moving_ms", -1)),
                     bytes_text(number(group, "bytes")), members_text(group)});
        failures += failure_text(group);
    }
    return "\n" + columns.text() + failures;
}

std::string staleness_text(const Json& job) {
    const Json& buckets = list(job, "staleness");
    double most = 0;
    for (const Json& bucket : buckets) most = std::max(most, number(bucket, "members"));
    if (most <= 0) return {};
    std::string lines = "\n  staleness: iterations behind the newest of its group\n";
    for (const Json& bucket : buckets) {
        const uint64_t from = count(bucket, "from");
        const uint64_t to = count(bucket, "to");
        const double members = number(bucket, "members");
        const auto bar = static_cast<size_t>(std::clamp(members / most, 0.0, 1.0) * 40 + 0.5);
        lines += fmt::format("  {:>11} {:<40} {}\n",
                             from == to ? fmt::format("{}", from) : fmt::format("{}..{}", from, to),
                             std::string(std::max<size_t>(bar, 1), '#'), text(bucket, "members"));
    }
    return lines;
}

std::string mixing_text(const Json& job) {
    if (!member(job, "sync_components").is_number()) return {};
    const uint64_t components = count(job, "sync_components");
    std::string line =
        fmt::format("  spectral gap {:.3f}; sync-graph in {} {}", number(job, "spectral_gap"),
                    components, components == 1 ? "piece" : "pieces");
    // Absent if the controller forms no groups (prague-static).
    if (member(job, "group_wait_ms").is_number())
        line += fmt::format("; {} groups in flight; waits {} for a full one",
                            count(job, "groups_in_flight"),
                            duration_text(number(job, "group_wait_ms")));
    if (truth(job, "holding")) line += "; holding a group for a bridge";
    return line + "\n";
}

std::string costs_text(const Json& job) {
    if (!member(job, "groups_ordered").is_number()) return {};
    std::string groups = fmt::format("{} completed", count(job, "groups_completed"));
    if (member(job, "groups_failed").is_number())
        groups = fmt::format("{} ordered, {}, {} failed, {} in conflict with another",
                             count(job, "groups_ordered"), groups, count(job, "groups_failed"),
                             count(job, "conflicts"));
    return fmt::format(
        "  groups: {}\n"
        "  a member waited {} for its group and exchanged {} (medians; in all {} and {})\n",
        groups, median_text(job, "waited"), median_text(job, "exchanged"),
        total_text(job, "waited"), total_text(job, "exchanged"));
}

std::string progress_text(const Json& job) {
    const Json& progress = member(job, "progress");
    if (!progress.is_object()) return {};
    const Json& last = member(progress, "last");
    const Json& first = member(progress, "first");
    return fmt::format("  progress: {} apart, from {} (rank {}) to {} (rank {})\n",
                       count(progress, "spread"), count(last, "at"), text(last, "rank"),
                       count(first, "at"), text(first, "rank"));
}

// The nodes without which the job continues, because others cannot reach them.
std::string left_out_text(const Json& job, const NodeNames& names) {
    std::string named;
    for (const Json& node : list(job, "left_out"))
        if (node.is_number_unsigned()) named += " " + name_of_node(names, node.get<uint64_t>());
    if (named.empty()) return {};
    return fmt::format("  goes on without, since the network is cut:{}\n", named);
}

std::string ranks_text(const Json& wait, std::string_view key) {
    std::string ranks;
    for (const Json& rank : list(wait, key))
        if (rank.is_number_unsigned())
            ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank.get<uint64_t>());
    const uint64_t others = count(wait, fmt::format("{}_left_out", key));
    return others > 0 ? fmt::format("{} and {} more", ranks, others) : ranks;
}

// Which ranks wait for which.
std::string wait_lines(const Json& job) {
    std::string lines;
    for (const Json& wait : list(job, "waits")) {
        const std::string waited = member(wait, "waited_ms").is_number()
                                       ? " for " + duration_text(number(wait, "waited_ms"))
                                       : std::string();
        lines +=
            fmt::format("  waiting{}: rank {} for rank {} ({})\n", waited,
                        ranks_text(wait, "ranks"), ranks_text(wait, "for"), text(wait, "what"));
    }
    return lines;
}

// Which of the job's nodes are near each other, as far as known.
std::string zones_text(const Json& job, const NodeNames& names) {
    constexpr size_t kNodesNamed = 8;  // per zone
    std::string lines;
    for (const Json& zone : list(job, "zones")) {
        const Json& nodes = list(zone, "nodes");
        std::string named;
        for (size_t i = 0; i < std::min(nodes.size(), kNodesNamed); ++i) {
            const bool is_number = nodes[i].is_number_unsigned();
            named += ' ' + name_of_node(names, is_number ? nodes[i].get<uint64_t>() : 0);
        }
        if (nodes.size() > kNodesNamed)
            named += fmt::format(" … {} more", nodes.size() - kNodesNamed);
        lines += fmt::format(
            "  near each other, by {}:{}\n",
            member(zone, "label").is_string() ? "zone " + text(zone, "label") : "their links",
            named);
    }
    const uint64_t others = count(job, "zones_left_out");
    if (others > 0) lines += fmt::format("  … and {} more zones\n", others);
    return lines;
}

// The ranks that have never joined.
std::string missing_text(const Json& job) {
    constexpr size_t kNamed = 8;
    if (count(job, "workers_left_out") > 0) return "all workers";
    std::set<uint64_t> present;
    for (const Json& worker : list(job, "workers")) present.insert(count(worker, "rank"));
    const uint64_t world = count(member(job, "options"), "world");
    std::string ranks;
    size_t missing = 0;
    for (uint64_t rank = 0; rank < world; ++rank) {
        if (present.contains(rank)) continue;
        if (++missing <= kNamed) ranks += fmt::format(" {}", rank);
    }
    if (missing == 0) return "all workers";
    if (missing > kNamed) ranks += fmt::format(" and {} more", missing - kNamed);
    return fmt::format("{}{}", missing == 1 ? "rank" : "ranks", ranks);
}

// The choice of policy auto; "" for other policies.
std::string auto_text(const Json& job) {
    const Json& chosen = member(job, "auto");
    if (!chosen.is_object()) return {};
    const uint64_t switches = count(chosen, "switches");
    std::string shape = text(chosen, "policy");
    if (member(chosen, "group_size").is_number()) shape += " of " + text(chosen, "group_size");
    return fmt::format("  auto: {} {} ({} {} so far)\n", shape, text(chosen, "reason"), switches,
                       switches == 1 ? "change" : "changes");
}

// A run without an identity is known by the job's name only.
std::string run_text(const Json& job) {
    const std::string id = text(member(job, "run"), "id", "");
    return id.empty() ? id : fmt::format("  run {}\n", id);
}

}  // namespace

std::string shape_of(const Json& job) {
    const Json& options = member(job, "options");
    std::string shape = text(options, "policy");
    if (member(options, "server.rate").is_string())
        shape += fmt::format("{}, rate {}",
                             member(options, "server.staleness").is_number()
                                 ? fmt::format(" of {}", text(options, "server.staleness"))
                                 : "",
                             text(options, "server.rate"));
    if (const Json& chosen = member(job, "auto"); chosen.is_object()) {
        shape += fmt::format(" ({}", text(chosen, "policy"));
        if (member(chosen, "group_size").is_number()) shape += " of " + text(chosen, "group_size");
        shape += fmt::format("), {} weights", text(options, "average.weights"));
    }
    if (member(options, "group.size").is_number())
        shape += fmt::format(" of {}, {} weights", text(options, "group.size"),
                             text(options, "average.weights"));
    if (const uint64_t edges = count(options, "group.edges"); edges > 0)
        shape += fmt::format(" on a graph of {} {}", edges, edges == 1 ? "edge" : "edges");
    const std::string quorum = text(options, "quorum", "all");
    const std::string compression = text(options, "compression", "none");
    if (quorum != "all") shape += ", quorum " + quorum;
    if (compression != "none") shape += ", " + compression;
    return shape;
}

std::string state_of(const Json& job) {
    if (truth(job, "gathering")) return "waits for its members after the controller's restart";
    if (truth(job, "changing_view")) return "changing members";
    const std::string state = job_state(job);
    return state == "joining" ? "waits for " + missing_text(job) + " to join" : state;
}

std::string job_text(const Json& status, const Json& job, const StatusLimits& limits) {
    const NodeNames names = node_names(status);
    const Json& options = member(job, "options");
    std::string lines = fmt::format("job {}: {}, {} of {} workers, epoch {}, {}\n",
                                    text(job, "name"), shape_of(job), worker_count(job),
                                    text(options, "world"), text(job, "epoch"), state_of(job));
    lines += run_text(job);
    lines += auto_text(job);
    lines += model_text(job);
    lines += slow_lines(job, names);
    lines += progress_text(job);
    lines += training_line(job);
    lines += residual_line(job);
    lines += wait_lines(job);
    lines += left_out_text(job, names);
    lines += zones_text(job, names);
    lines += mixing_text(job);
    lines += costs_text(job);
    lines += workers_text(job, names, limits.workers);
    lines += groups_text(job, limits.groups);
    lines += staleness_text(job);
    return lines;
}

std::string job_list_text(const Json& status) {
    Columns columns({"JOB", "POLICY", ">WORKERS", ">WORLD", ">EPOCH", ">UID", "STATE"});
    for (const Json& job : list(status, "jobs")) {
        columns.add({text(job, "name"), shape_of(job), fmt::format("{}", worker_count(job)),
                     text(member(job, "options"), "world"), text(job, "epoch"), text(job, "uid"),
                     state_of(job)});
    }
    return columns.empty() ? "no job\n" : columns.text("");
}

Json job_list_json(const Json& status) {
    Json jobs = Json::array();
    for (const Json& job : list(status, "jobs")) {
        const Json& options = member(job, "options");
        jobs.push_back({{"name", member(job, "name")},
                        {"policy", member(options, "policy")},
                        {"shape", shape_of(job)},
                        {"workers", worker_count(job)},
                        {"world", member(options, "world")},
                        {"epoch", member(job, "epoch")},
                        {"uid", member(job, "uid")},
                        {"state", job_state(job)},
                        {"state_text", state_of(job)}});
    }
    return {{"jobs", std::move(jobs)}};
}

std::string job_options_text(const Json& job) {
    Columns columns({"OPTION", "VALUE"});
    const Json& options = member(job, "options");
    if (!options.is_object()) return {};
    for (const auto& [key, value] : options.items())
        columns.add({printable(key), text(options, key)});
    return columns.text();
}

}  // namespace pace::pacectl
