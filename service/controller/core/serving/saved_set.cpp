#include "service/controller/core/serving/saved_set.h"

#include <algorithm>
#include <tuple>

namespace pace::controller {

std::optional<SavedSet> newest_saved(const std::map<NodeId, ServerReport>& reports,
                                     uint64_t token) {
    // The identity of a checkpoint: checkpoints of several jobs of one name must not mix.
    // Generation, position, token, shards.
    using Identity = std::tuple<uint64_t, uint64_t, uint64_t, uint32_t>;
    std::map<Identity, SavedSet> sets;
    for (const auto& [node, report] : reports) {
        for (const SavedModel& saved : report.saved) {
            if (token != 0 && saved.token != token) continue;
            SavedSet& set =
                sets[{saved.generation, saved.ledger.position, saved.token, saved.shards}];
            if (set.holders.empty()) {
                set = {saved.generation, saved.ledger,
                       std::vector<std::vector<NodeId>>(saved.shards)};
            }
            for (const uint32_t shard : saved.there)
                if (shard < set.holders.size()) set.holders[shard].push_back(node);
        }
    }
    for (auto set = sets.rbegin(); set != sets.rend(); ++set) {
        const auto& holders = set->second.holders;
        const bool whole =
            std::none_of(holders.begin(), holders.end(),
                         [](const std::vector<NodeId>& nodes) { return nodes.empty(); });
        if (whole && !holders.empty()) return std::move(set->second);
    }
    return std::nullopt;
}

uint64_t newest_generation(const std::map<NodeId, ServerReport>& reports) {
    uint64_t newest = 0;
    for (const auto& [node, report] : reports)
        for (const SavedModel& saved : report.saved) newest = std::max(newest, saved.generation);
    return newest;
}

std::vector<NodeId> place_saved(const SavedSet& saved, std::span<const NodeId> before) {
    std::map<NodeId, size_t> kept;
    std::vector<NodeId> places(saved.holders.size(), 0);
    if (before.size() == places.size()) {
        for (size_t shard = 0; shard < places.size(); ++shard) {
            const auto& holders = saved.holders[shard];
            if (std::find(holders.begin(), holders.end(), before[shard]) == holders.end()) continue;
            places[shard] = before[shard];
            ++kept[before[shard]];
        }
    }
    for (size_t shard = 0; shard < places.size(); ++shard) {
        if (places[shard] != 0) continue;
        const auto& holders = saved.holders[shard];
        places[shard] =
            *std::min_element(holders.begin(), holders.end(),
                              [&kept](NodeId a, NodeId b) { return kept[a] < kept[b]; });
        ++kept[places[shard]];
    }
    return places;
}

}  // namespace pace::controller
