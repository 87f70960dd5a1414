#include "service/pacectl/status/status_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "service/pacectl/columns/columns.h"
#include "service/pacectl/facts/node_names.h"
#include "service/pacectl/status/job_text.h"
#include "service/pacectl/status/machine_text.h"

namespace pace::pacectl {

namespace {

std::string controller_line(const Json& status) {
    const Json& counters = member(status, "counters");
    const Json& journal = member(status, "journal");
    std::string line = fmt::format("controller {}", text(status, "version"));
    for (const Json& endpoint : list(status, "listening"))
        if (endpoint.is_string()) line += " " + printable(endpoint.get_ref<const std::string&>());
    line += fmt::format(", {}, journal: {}", truth(status, "curve") ? "encrypted" : "not encrypted",
                        text(journal, "state"));
    if (member(journal, "failure").is_string())
        line += fmt::format(" ({})", text(journal, "failure"));
    line += fmt::format("\n{} groups formed, {} of them changed to keep models mixing\n",
                        count(counters, "groups"), count(counters, "bridged_groups"));
    return line;
}

std::string text_or_dash(const Json& node, std::string_view key) {
    const std::string fact = text(node, key, "");
    return fact.empty() ? "-" : fact;
}

// "alive, draining".
std::string node_status(const Json& node) {
    return text(node, "status") + (truth(node, "draining") ? ", draining" : "");
}

// Versions are shown if any node reports one.
std::string nodes_text(const Json& status, size_t limit) {
    const Json& nodes = list(status, "nodes");
    const bool has_versions = std::any_of(nodes.begin(), nodes.end(), [](const Json& node) {
        return !text(node, "version", "").empty();
    });
    std::vector<std::string> heads{"NODE",    "STATUS", ">WORKERS", ">PROCESSORS",
                                   ">SILENT", "ZONE",   "NCCL"};
    if (has_versions) heads.emplace_back("VERSION");
    heads.emplace_back("HOST");
    Columns columns(heads);
    const size_t shown = std::min(nodes.size(), limit);
    for (size_t i = 0; i < shown; ++i) {
        const Json& node = nodes[i];
        std::vector<std::string> row{text(node, "name"),
                                     node_status(node),
                                     text(node, "workers"),
                                     text(node, "processors"),
                                     duration_text(number(node, "silent_ms", -1)),
                                     text_or_dash(node, "zone"),
                                     text_or_dash(node, "nccl")};
        if (has_versions) row.push_back(text_or_dash(node, "version"));
        row.push_back(text(node, "host", ""));
        columns.add(std::move(row));
    }
    if (columns.empty()) return "\nno node is attached\n";
    return "\n" + columns.text("") +
           rows_left_out(shown, nodes.size(), count(status, "nodes_left_out"), "nodes");
}

// In node order; if not all are shown, the slowest.
std::vector<const Json*> links_to_show(const Json& status, size_t limit) {
    std::vector<const Json*> links;
    for (const Json& link : list(status, "links")) links.push_back(&link);
    if (links.size() <= limit) return links;
    std::stable_sort(links.begin(), links.end(), [](const Json* a, const Json* b) {
        return number(*a, "mebibyte_ms") > number(*b, "mebibyte_ms");
    });
    links.resize(limit);
    return links;
}

std::string links_text(const Json& status, size_t limit) {
    const NodeNames names = node_names(status);
    Columns columns({"LINK FROM", "TO", ">LATENCY", ">1 MIB"});
    const auto links = links_to_show(status, limit);
    for (const Json* link : links)
        columns.add({name_of_node(names, count(*link, "from")),
                     name_of_node(names, count(*link, "to")),
                     duration_text(number(*link, "latency_us", -1e3) / 1e3),
                     duration_text(number(*link, "mebibyte_ms", -1))});
    if (columns.empty()) return {};
    return "\n" + columns.text("") +
           rows_left_out(links.size(), list(status, "links").size(),
                         count(status, "links_left_out"), "links");
}

// Pairs of nodes that cannot reach each other.
std::string cuts_text(const Json& status, size_t limit) {
    const NodeNames names = node_names(status);
    const Json& cuts = list(status, "cut_links");
    std::string lines;
    for (size_t i = 0; i < std::min(cuts.size(), limit); ++i) {
        const Json& nodes = list(cuts[i], "nodes");
        if (nodes.size() != 2 || !nodes[0].is_number_unsigned() || !nodes[1].is_number_unsigned())
            continue;
        lines += fmt::format("cut for {}: {} and {} get no bytes from each other\n",
                             duration_text(number(cuts[i], "since_ms", -1)),
                             name_of_node(names, nodes[0].get<uint64_t>()),
                             name_of_node(names, nodes[1].get<uint64_t>()));
    }
    if (lines.empty()) return {};
    return "\n" + lines +
           rows_left_out(std::min(cuts.size(), limit), cuts.size(),
                         count(status, "cut_links_left_out"), "cuts");
}

}  // namespace

std::string status_text(const Json& status, const StatusLimits& limits) {
    std::string lines = controller_line(status) + nodes_text(status, limits.nodes) +
                        machines_text(status, limits.nodes) + links_text(status, limits.links) +
                        cuts_text(status, limits.links);
    for (const Json& job : list(status, "jobs")) lines += "\n" + job_text(status, job, limits);
    if (list(status, "jobs").empty()) lines += "\nno job\n";
    return lines;
}

}  // namespace pace::pacectl
