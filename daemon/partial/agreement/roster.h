// Roster: the living workers of a round and the nodes on which they run. Equal on all nodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pace::partial {

using Rank = uint32_t;

struct Roster {
    // For each node, in node order: the ranks of its workers, ascending. A node may have none.
    std::vector<std::vector<Rank>> nodes;

    size_t workers() const {
        size_t count = 0;
        for (const std::vector<Rank>& ranks : nodes) count += ranks.size();
        return count;
    }

    // The number of workers on the node that has most of them.
    size_t largest_node() const {
        size_t most = 0;
        for (const std::vector<Rank>& ranks : nodes) most = std::max(most, ranks.size());
        return most;
    }

    // All ranks, ascending.
    std::vector<Rank> ranks() const {
        std::vector<Rank> all;
        all.reserve(workers());
        for (const std::vector<Rank>& ranks : nodes)
            all.insert(all.end(), ranks.begin(), ranks.end());
        std::sort(all.begin(), all.end());
        return all;
    }
};

}  // namespace pace::partial
