#include "service/simulator/measured/measured_links.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "service/simulator/files/cluster_file.h"
#include "service/simulator/measured/rounded.h"

namespace pace::simulator {

namespace {

constexpr double kLeastGbit = 0.001;  // the limits of a scenario
constexpr double kMostGbit = 1e6;

// Returns the larger of the two middle values. A node is as fast as its pairs with nodes that are
// not slower.
double upper_middle_of(std::vector<double> numbers) {
    std::sort(numbers.begin(), numbers.end());
    return numbers[numbers.size() / 2];
}

double gbit_of(const MeasuredLink& link) {
    return rounded(std::clamp(8 / link.ns_per_byte, kLeastGbit, kMostGbit));
}

struct Pairs {
    std::map<uint64_t, std::vector<double>> gbit_of_node;  // with nodes of its zone
    std::vector<double> near_latency_us;
    std::vector<double> far_gbit;
    std::vector<double> far_latency_us;
};

Pairs pairs_of(const MeasuredJob& job) {
    std::map<uint64_t, std::string> zone_of;
    for (const MeasuredNode& node : job.nodes) zone_of[node.node] = node.zone;
    Pairs pairs;
    for (const MeasuredLink& link : job.links) {
        const bool is_near = zone_of[link.from] == zone_of[link.to];
        (is_near ? pairs.near_latency_us : pairs.far_latency_us).push_back(link.latency_us);
        if (link.ns_per_byte <= 0) continue;  // too fast for the clock to tell
        if (!is_near) {
            pairs.far_gbit.push_back(gbit_of(link));
            continue;
        }
        pairs.gbit_of_node[link.from].push_back(gbit_of(link));
        pairs.gbit_of_node[link.to].push_back(gbit_of(link));
    }
    return pairs;
}

// The speed for nodes without a measurement: the median of the others. If there is none, at least
// the speed of pairs in different zones.
double usual_gbit(const Pairs& pairs) {
    std::vector<double> all;
    for (const auto& [node, gbit] : pairs.gbit_of_node) all.push_back(upper_middle_of(gbit));
    if (!all.empty()) return upper_middle_of(all);
    if (pairs.far_gbit.empty()) return kLinkGbit;
    return std::max(kLinkGbit, *std::max_element(pairs.far_gbit.begin(), pairs.far_gbit.end()));
}

// Nodes of one host share its link. The link is as fast as the fastest of them.
void share_on_hosts(const MeasuredJob& job, std::vector<double>& ret_gbit) {
    std::map<std::string, double> of_host;
    for (size_t i = 0; i < job.nodes.size(); ++i) {
        double& most = of_host[job.nodes[i].host];
        most = std::max(most, ret_gbit[i]);
    }
    for (size_t i = 0; i < job.nodes.size(); ++i)
        if (!job.nodes[i].host.empty()) ret_gbit[i] = of_host[job.nodes[i].host];
}

void add_far(const MeasuredJob& job, const Pairs& pairs, MeasuredLinks& ret_links) {
    std::set<std::string> zones;
    for (const MeasuredNode& node : job.nodes) zones.insert(node.zone);
    if (zones.size() < 2) return;
    if (pairs.far_gbit.empty()) {
        ret_links.notes.push_back(fmt::format(
            "Assumed: what joins the {} zones is as fast as what is within them; no pair was "
            "measured.",
            zones.size()));
        return;
    }
    ret_links.between_gbit = upper_middle_of(pairs.far_gbit);
    ret_links.between_latency_us = upper_middle_of(pairs.far_latency_us);
    ret_links.notes.push_back(fmt::format(
        "Assumed: all exchanges between two of the {} zones share {:.4g} Gbit/s, which one pair of "
        "nodes was measured to have.",
        zones.size(), *ret_links.between_gbit));
}

}  // namespace

MeasuredLinks links_of(const MeasuredJob& job) {
    const Pairs pairs = pairs_of(job);
    const double usual = usual_gbit(pairs);
    MeasuredLinks links;
    size_t unknown = 0;
    for (const MeasuredNode& node : job.nodes) {
        const auto found = pairs.gbit_of_node.find(node.node);
        unknown += found == pairs.gbit_of_node.end() ? 1 : 0;
        links.gbit.push_back(found == pairs.gbit_of_node.end() ? usual
                                                               : upper_middle_of(found->second));
    }
    share_on_hosts(job, links.gbit);
    links.latency_us = pairs.near_latency_us.empty()
                           ? kLatencyUs
                           : rounded(upper_middle_of(pairs.near_latency_us));
    if (job.nodes.size() > 1 && unknown > 0)
        links.notes.push_back(fmt::format(
            "Assumed: {} of {} nodes have links of {:.4g} Gbit/s; theirs were not measured within "
            "their zones.",
            unknown, job.nodes.size(), usual));
    if (job.nodes.size() > 1 && pairs.near_latency_us.empty())
        links.notes.push_back(
            fmt::format("Assumed: a message takes {} us; none was measured.", kLatencyUs));
    add_far(job, pairs, links);
    return links;
}

}  // namespace pace::simulator
