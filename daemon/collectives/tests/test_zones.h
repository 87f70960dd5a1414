// Test zones: exchanges among nodes in several zones, and their all-reduce as all_reduce.h defines
// it, one element at a time.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/tests/test_cluster.h"
#include "daemon/collectives/tests/test_data.h"

namespace pace::collectives {

using Places = std::vector<uint32_t>;

struct ZonedExchange {
    Layout layout;
    std::vector<std::vector<Worker>> nodes;
    Places zones;
    double scale = 1.0;
    std::vector<bool> contributes = {};
};

inline AllReduceOptions cut(size_t chunk_bytes, size_t window = 4, size_t sends_max = 0) {
    AllReduceOptions options;
    options.small_bytes_max = 0;
    options.chunk_bytes_min = options.chunk_bytes_max = chunk_bytes;
    options.window = window;
    options.sends_max = sends_max;
    return options;
}

inline AllReduceOptions any_cut(base::Random& random) {
    return cut(64 * (1 + random.below(4)), 1 + random.below(5), random.below(6));
}

// Returns ways to divide `nodes` nodes into zones, including divisions in which relays do not help.
inline std::vector<Places> divisions(size_t nodes, base::Random& random) {
    std::vector<Places> all(7, Places(nodes));
    const uint64_t numbers = 2 + random.below(nodes);
    for (size_t i = 0; i < nodes; ++i) {
        const auto node = static_cast<uint32_t>(i);
        all[0][i] = i < nodes / 2 ? 5 : 2;                     // halves
        all[1][i] = node % 2;                                  // taking turns, one of them unknown
        all[2][i] = 1 + node % 3;                              // three, taking turns
        all[3][i] = i + 1 == nodes ? 9 : 8;                    // all but one
        all[4][i] = i == 0 ? 3 : (i < 1 + nodes / 4 ? 1 : 2);  // one alone, few, many
        all[5][i] = node + 1;                                  // all alone: no relays
        all[6][i] = static_cast<uint32_t>(random.below(numbers));
    }
    return all;
}

inline std::string text_of(const Places& zones) {
    std::string text = "zones";
    for (const uint32_t zone : zones) text += " " + std::to_string(zone);
    return text;
}

inline ZonedExchange random_zoned(std::vector<Segment> segments, Places zones,
                                  base::Random& random) {
    ZonedExchange exchange{Layout(std::move(segments)), {}, std::move(zones)};
    exchange.scale = 1.0 / static_cast<double>(exchange.zones.size());
    exchange.nodes.resize(exchange.zones.size());
    for (auto& workers : exchange.nodes)
        for (size_t i = random.below(4); i-- > 0;)
            workers.push_back(random_worker(exchange.layout,
                                            random.below(2) == 0 ? 1.0 : random.uniform(), random));
    return exchange;
}

inline bool contributes(const ZonedExchange& exchange, size_t node) {
    return exchange.contributes.empty() || exchange.contributes[node];
}

// The zones' numbers, in the order of first appearance.
inline Places zones_in_order(const Places& zones) {
    Places order;
    for (const uint32_t zone : zones)
        if (std::find(order.begin(), order.end(), zone) == order.end()) order.push_back(zone);
    return order;
}

inline bool has_relays(const Places& zones) {
    const size_t count = zones_in_order(zones).size();
    return count > 1 && count < zones.size();
}

// Writes the sum of one zone's partials of a segment. Returns false if none of the zone's nodes
// contributes.
inline bool reference_zone(const ZonedExchange& exchange, uint32_t zone, size_t s, Bytes& ret_sum) {
    const Segment segment = exchange.layout.segments()[s];
    std::vector<Bytes> partials;
    for (size_t node = 0; node < exchange.nodes.size(); ++node) {
        if (exchange.zones[node] != zone || !contributes(exchange, node)) continue;
        std::vector<kernels::Source> own;
        for (const Worker& worker : exchange.nodes[node])
            own.push_back({worker.segments[s].data(), worker.weight});
        partials.emplace_back(segment.count * protocol::size_of(segment.dtype));
        kernels::reference_sum(segment.dtype, own, 1.0, partials.back().data(), segment.count);
    }
    std::vector<kernels::Source> sources;
    for (const Bytes& partial : partials) sources.push_back({partial.data(), 1.0});
    ret_sum.resize(segment.count * protocol::size_of(segment.dtype));
    kernels::reference_sum(segment.dtype, sources, exchange.scale, ret_sum.data(), segment.count);
    return !partials.empty();
}

inline Bytes zoned_reference(const ZonedExchange& exchange) {
    if (!has_relays(exchange.zones))
        return reference_all_reduce(exchange.layout, exchange.nodes, exchange.scale,
                                    exchange.contributes);
    Bytes result(exchange.layout.bytes());
    for (size_t s = 0; s < exchange.layout.segments().size(); ++s) {
        std::vector<Bytes> sums;
        for (const uint32_t zone : zones_in_order(exchange.zones)) {
            Bytes sum;
            if (reference_zone(exchange, zone, s, sum)) sums.push_back(std::move(sum));
        }
        std::vector<kernels::Source> sources;
        for (const Bytes& sum : sums) sources.push_back({sum.data(), 1.0});
        const Segment segment = exchange.layout.segments()[s];
        kernels::reference_sum(segment.dtype, sources, 1.0,
                               result.data() + exchange.layout.offset(s), segment.count);
    }
    return result;
}

using Traffic = std::vector<std::vector<uint64_t>>;  // bytes, by sender and receiver

inline std::vector<Bytes> run_zoned(const ZonedExchange& exchange, const AllReduceOptions& options,
                                    std::optional<uint64_t> seed = std::nullopt,
                                    Traffic* ret_traffic = nullptr) {
    const size_t nodes = exchange.nodes.size();
    // Former contents of the scratch memory must not matter.
    std::vector<Bytes> results(nodes, Bytes(exchange.layout.bytes(), std::byte{0xAB}));
    std::vector<LocalPart> parts;
    for (const auto& workers : exchange.nodes)
        parts.push_back(local_part(exchange.layout, workers));
    TestCluster cluster(nodes, seed, exchange.contributes, exchange.zones);
    for (size_t i = 0; i < nodes; ++i)
        cluster.start(
            i, all_reduce(cluster.communicator(i), parts[i], exchange.scale, results[i], options));
    cluster.run_well();
    for (size_t i = 0; i < nodes && ret_traffic != nullptr; ++i) {
        ret_traffic->emplace_back();
        for (size_t j = 0; j < nodes; ++j) ret_traffic->back().push_back(cluster.bytes_sent(i, j));
    }
    return results;
}

inline void expect_reference(const ZonedExchange& exchange, const AllReduceOptions& options,
                             std::optional<uint64_t> seed = std::nullopt) {
    const Bytes expected = zoned_reference(exchange);
    const std::vector<Bytes> results = run_zoned(exchange, options, seed);
    for (size_t i = 0; i < results.size(); ++i)
        ASSERT_TRUE(results[i] == expected)
            << "node " << i << " of " << results.size() << ", " << text_of(exchange.zones);
}

}  // namespace pace::collectives
