#include "service/controller/core/options/communication_graph.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/each_once.h"
#include "protocol/options/limits.h"

namespace pace::controller {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr size_t kNamed = 3;  // edges listed in a text; the rest are counted

using Edge = std::pair<uint32_t, uint32_t>;

Result<Edge> check_edge(uint32_t a, uint32_t b, uint32_t world) {
    if (std::max(a, b) >= world)
        return make_error(
            ErrorKind::invalid,
            "group.edges have {}-{}, but the ranks of a world of {} are 0 to {}; give "
            "edges between those",
            a, b, world, world - 1);
    if (a == b)
        return make_error(ErrorKind::invalid,
                          "group.edges have {}-{}, from a worker to itself; leave it out", a, b);
    return Edge(std::minmax(a, b));
}

// For every rank the lowest rank to which edges connect it, directly or through others.
std::vector<uint32_t> components_of(const std::vector<Edge>& edges, uint32_t world) {
    std::vector<uint32_t> parent(world);
    std::iota(parent.begin(), parent.end(), 0U);
    const auto root_of = [&parent](uint32_t rank) {
        while (parent[rank] != rank) rank = parent[rank] = parent[parent[rank]];
        return rank;
    };
    for (const auto& [a, b] : edges) {
        const auto [low, high] = std::minmax({root_of(a), root_of(b)});
        parent[high] = low;
    }
    std::vector<uint32_t> components(world);
    for (uint32_t rank = 0; rank < world; ++rank) components[rank] = root_of(rank);
    return components;
}

Result<> check_connected(const std::vector<Edge>& edges, uint32_t world) {
    const std::vector<uint32_t> components = components_of(edges, world);
    const auto is_cut_off = [](uint32_t component) { return component != 0; };
    const auto first = std::find_if(components.begin(), components.end(), is_cut_off);
    if (first == components.end()) return {};
    const auto others = std::count_if(first + 1, components.end(), is_cut_off);
    return make_error(
        ErrorKind::invalid,
        "group.edges leave worker {}{} unconnected with worker 0; add an edge between "
        "them{}",
        first - components.begin(), others > 0 ? fmt::format(" (and {} more)", others) : "",
        world - 1 > protocol::kEdgesMax
            ? fmt::format(", or leave group.edges out: {}, the most, cannot join a world of {}",
                          protocol::kEdgesMax, world)
            : "");
}

std::vector<Edge> pairs_of(const std::vector<uint32_t>& edges) {
    std::vector<Edge> pairs;
    for (size_t i = 0; i + 1 < edges.size(); i += 2) pairs.emplace_back(edges[i], edges[i + 1]);
    return pairs;
}

// The edges of `edges` that `others` lacks.
std::string missing_text(const std::vector<Edge>& edges, const std::vector<Edge>& others) {
    std::vector<Edge> missing;
    std::set_difference(edges.begin(), edges.end(), others.begin(), others.end(),
                        std::back_inserter(missing));
    std::string text;
    for (size_t i = 0; i < std::min(missing.size(), kNamed); ++i)
        text += fmt::format("{}{}-{}", i == 0 ? "" : " ", missing[i].first, missing[i].second);
    if (missing.size() > kNamed) text += fmt::format(" and {} more", missing.size() - kNamed);
    return text;
}

}  // namespace

Result<std::vector<uint32_t>> check_edges(const std::vector<uint32_t>& edges, uint32_t world) {
    if (edges.empty()) return edges;
    std::vector<Edge> pairs;
    for (size_t i = 0; i + 1 < edges.size(); i += 2) {
        PACE_TRY_ASSIGN(edge, check_edge(edges[i], edges[i + 1], world));
        pairs.push_back(edge);
    }
    PACE_TRY(check_connected(pairs, world));
    base::sort_each_once(pairs);
    std::vector<uint32_t> sorted;
    for (const auto& [a, b] : pairs) sorted.insert(sorted.end(), {a, b});
    return sorted;
}

std::string edge_differences(const std::vector<uint32_t>& asked,
                             const std::vector<uint32_t>& of_job) {
    const std::string more = missing_text(pairs_of(asked), pairs_of(of_job));
    const std::string fewer = missing_text(pairs_of(of_job), pairs_of(asked));
    return fmt::format("{}{}{}{}", more, more.empty() ? "" : " too",
                       more.empty() || fewer.empty() ? "" : ", ",
                       fewer.empty() ? "" : "not " + fewer);
}

}  // namespace pace::controller
