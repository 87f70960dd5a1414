#include "service/pacectl/findings/cluster_findings.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "service/pacectl/facts/job_facts.h"
#include "service/pacectl/facts/node_names.h"

namespace pace::pacectl {

namespace {

using Names = std::vector<std::string>;

// Groups the nodes by their value of `key`; nodes without a value are under "".
std::map<std::string, Names> nodes_by(const Json& status, std::string_view key) {
    std::map<std::string, Names> groups;
    for (const Json& node : list(status, "nodes"))
        groups[text(node, key, "")].push_back(text(node, "name"));
    return groups;
}

// "1.0.0 (a, b), 1.1.0 (c)"
std::string groups_text(const std::map<std::string, Names>& groups) {
    std::string all;
    for (const auto& [value, names] : groups)
        all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", value, named(names));
    return all;
}

void judge_nodes(const Json& status, Findings& ret_findings) {
    auto by_status = nodes_by(status, "status");
    const size_t alive = by_status["alive"].size();
    for (const auto& [state, names] : by_status) {
        if (state == "alive" || names.empty()) continue;
        ret_findings.push_back(
            warn("nodes", fmt::format("{}: {}", state, named(names)),
                 "look at that node: does paced run, is it frozen or the network cut?"));
    }
    Names draining;
    for (const Json& node : list(status, "nodes")) {
        if (truth(node, "draining")) draining.push_back(text(node, "name"));
    }
    if (!draining.empty())
        ret_findings.push_back(ok("nodes", "draining, as an operator wishes: " + named(draining)));
    ret_findings.push_back(ok("nodes", fmt::format("{} alive", alive)));
}

// Neighbouring releases work together, but only for a transition.
void judge_versions(const Json& status, Findings& ret_findings) {
    auto groups = nodes_by(status, "version");
    const Names silent = groups[""];
    groups.erase("");
    groups[text(status, "version")].emplace_back("the controller");
    if (groups.size() > 1)
        ret_findings.push_back(warn(
            "versions", "differ: " + groups_text(groups),
            "finish the upgrade: install the same release everywhere and restart the daemons"));
    else
        ret_findings.push_back(ok("versions", groups_text(groups)));
    if (!silent.empty())
        ret_findings.push_back(
            ok("versions", "not told, by an older daemon or controller: " + named(silent)));
}

void judge_zones(const Json& status, Findings& ret_findings) {
    auto groups = nodes_by(status, "zone");
    const Names without = groups[""];
    groups.erase("");
    if (groups.empty()) return;
    if (without.empty()) {
        ret_findings.push_back(ok("zones", groups_text(groups)));
        return;
    }
    ret_findings.push_back(warn(
        "zones", fmt::format("{} say none, others do: {}", named(without), groups_text(groups)),
        "set `zone` on every node or on none: without it a node counts as near nobody by word"));
}

// Sums among GPUs of several nodes need the same NCCL on all of them.
void judge_nccl(const Json& status, Findings& ret_findings) {
    auto groups = nodes_by(status, "nccl");
    groups.erase("");
    if (groups.size() > 1)
        ret_findings.push_back(
            warn("NCCL", "differs: " + groups_text(groups),
                 "install the same NCCL on all nodes with GPUs: until then sums between them go "
                 "through the host"));
}

struct Link {
    std::string from;
    std::string to;
    double mebibyte_ms = 0;
};

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Links within a zone are compared with each other, and so are links across zones.
std::map<std::string, std::vector<Link>> links_by_kind(const Json& status) {
    std::map<uint64_t, std::string> zones;
    for (const Json& node : list(status, "nodes"))
        zones[count(node, "node")] = text(node, "zone", "");
    const NodeNames names = node_names(status);
    std::map<std::string, std::vector<Link>> kinds;
    for (const Json& link : list(status, "links")) {
        const uint64_t from = count(link, "from");
        const uint64_t to = count(link, "to");
        const double mebibyte_ms = number(link, "mebibyte_ms", -1);
        if (mebibyte_ms <= 0) continue;
        const char* kind = zones[from] != zones[to] ? "between zones"
                           : zones[from].empty()    ? "between nodes"
                                                    : "within zones";
        kinds[kind].push_back({name_of_node(names, from), name_of_node(names, to), mebibyte_ms});
    }
    return kinds;
}

// Among few links none stands out, and below some milliseconds a busy moment looks like a slow
// link.
void judge_links(const Json& status, Findings& ret_findings) {
    constexpr size_t kLinksMin = 4;
    constexpr double kFarSlower = 4;
    constexpr double kMillisecondsMin = 5;
    for (const auto& [kind, links] : links_by_kind(status)) {
        std::vector<double> times;
        for (const Link& link : links) times.push_back(link.mebibyte_ms);
        const double median = median_of(times);
        Names slow;
        for (const Link& link : links) {
            if (links.size() >= kLinksMin && link.mebibyte_ms > kFarSlower * median &&
                link.mebibyte_ms > kMillisecondsMin)
                slow.push_back(fmt::format("{} to {} {}", link.from, link.to,
                                           duration_text(link.mebibyte_ms)));
        }
        const std::string most =
            fmt::format("a MiB takes {} on most links {}", duration_text(median), kind);
        if (slow.empty())
            ret_findings.push_back(ok("links", most));
        else
            ret_findings.push_back(warn(
                "links", fmt::format("{}, but {}", most, named(slow)),
                "look at those nodes' cables, duplex and speed (ethtool), and at who else uses "
                "the network"));
    }
}

void judge_cuts(const Json& status, Findings& ret_findings) {
    const NodeNames names = node_names(status);
    Names cuts;
    for (const Json& cut : list(status, "cut_links")) {
        const Json& nodes = list(cut, "nodes");
        if (nodes.size() != 2 || !nodes[0].is_number_unsigned() || !nodes[1].is_number_unsigned())
            continue;
        cuts.push_back(fmt::format("{} and {}", name_of_node(names, nodes[0].get<uint64_t>()),
                                   name_of_node(names, nodes[1].get<uint64_t>())));
    }
    if (cuts.empty()) return;
    ret_findings.push_back(fail(
        "network", "no bytes pass between " + named(cuts),
        "is a firewall between them, and does `data_interface` name a network that they share? "
        "Each listens on ports of its own choice there"));
}

void judge_journal(const Json& status, Findings& ret_findings) {
    const Json& journal = member(status, "journal");
    if (text(journal, "state", "") != "failed") return;
    ret_findings.push_back(fail(
        "journal",
        fmt::format("{} cannot be written: {}", text(journal, "path"), text(journal, "failure")),
        "make room on the controller's disk; until then no job can be created"));
}

void judge_workers(const Json& status, Findings& ret_findings) {
    const NodeNames names = node_names(status);
    Names slow;
    for (const Json& job : list(status, "jobs")) {
        for (const Json& worker : list(job, "workers")) {
            if (const auto found = slow_of(worker))
                slow.push_back(fmt::format("rank {} of {} on {} ({})", text(worker, "rank"),
                                           text(job, "name"),
                                           name_of_node(names, count(worker, "node")), found->why));
        }
    }
    if (slow.empty()) return;
    ret_findings.push_back(
        warn("workers", "slow: " + named(slow), "pacectl job show JOB says since when and why"));
}

// How far a clock may be from the controller's. A guess: it confuses logs and certificates only
// when it is more.
constexpr int64_t kClockMs = 2000;

std::string apart_text(int64_t ahead_ms) {
    return fmt::format("{} {}", duration_text(static_cast<double>(std::abs(ahead_ms))),
                       ahead_ms > 0 ? "ahead" : "behind");
}

int64_t signed_ms(const Json& object) {
    return static_cast<int64_t>(std::min<uint64_t>(count(object, "unix_ms"), INT64_MAX / 2));
}

void judge_clocks(const Json& status, uint64_t now_unix_ms, Findings& ret_findings) {
    const int64_t controllers = signed_ms(status);
    if (controllers == 0) return;  // an older controller does not say
    const char* const remedy = "synchronize the clocks: timedatectl set-ntp true, or an NTP client";
    const int64_t ahead = controllers - static_cast<int64_t>(now_unix_ms);
    if (std::abs(ahead) > kClockMs)
        ret_findings.push_back(warn(
            "clock", fmt::format("the controller's is {} of this machine's", apart_text(ahead)),
            remedy));
    Names apart;
    size_t known = 0;
    for (const Json& node : list(status, "nodes")) {
        const int64_t nodes = signed_ms(node);
        if (nodes == 0) continue;
        ++known;
        if (std::abs(nodes - controllers) > kClockMs)
            apart.push_back(
                fmt::format("{} {}", text(node, "name"), apart_text(nodes - controllers)));
    }
    if (!apart.empty())
        ret_findings.push_back(
            warn("clocks", "apart from the controller's: " + named(apart), remedy));
    else if (known > 0)
        ret_findings.push_back(
            ok("clocks", fmt::format("{} within {} of the controller's",
                                     known == 1 ? "one node" : fmt::format("{} nodes", known),
                                     duration_text(static_cast<double>(kClockMs)))));
}

}  // namespace

void judge_cluster(const Facts& facts, Findings& ret_findings) {
    if (!facts.daemon.status) return;
    const Json& status = *facts.daemon.status;
    judge_nodes(status, ret_findings);
    judge_versions(status, ret_findings);
    judge_zones(status, ret_findings);
    judge_nccl(status, ret_findings);
    judge_links(status, ret_findings);
    judge_cuts(status, ret_findings);
    judge_journal(status, ret_findings);
    judge_workers(status, ret_findings);
    judge_clocks(status, facts.machine.unix_ms, ret_findings);
}

}  // namespace pace::pacectl
