// Zones: what joins the nodes of several racks or data centers, and what an exchange sends over it.
//
// Each pair of zones has one way, which all exchanges between the two zones share (shares.h). An
// exchange has n nodes: a nodes in one zone and b in another. Each node sends 2 (n - 1) / n S
// bytes. Then each direction of the way carries (docs/decisions/0014):
//   direct: 2 a b / n S          each node sends its part of a block straight to the block's owner
//   relays: (a + b) / n S        where some zone has several of the nodes: its parts of a block
//                                leave it as one
//
// Beside the streams of the nodes' links, these are a b / (n - 1) and (a + b) / (2 (n - 1))
// streams. A message takes two hops directly. With relays it takes two hops within zones and two
// between zones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "service/simulator/model/scenario.h"
#include "service/simulator/model/stage.h"

namespace pace::simulator {

// The number of zones that may have bounded ways. Each pair of zones has one channel.
inline constexpr size_t kZonesMax = 64;

class Zones {
  public:
    // Ways are channels that come after the scenario's own channels.
    explicit Zones(const Scenario& scenario);

    // The scenario's channels and the ways.
    const std::vector<Channel>& channels() const { return channels_; }

    // Whether traffic between zones can take longer at all, and some of the nodes are in another
    // zone than the rest.
    bool are_crossed(std::span<const uint32_t> nodes) const;

    enum class Route : uint8_t { direct, relays };
    // With relays where Pace uses them.
    Route route_of(std::span<const uint32_t> nodes) const;

    // The streams over ways. Empty if nothing bounds the ways.
    std::vector<Use> crossing(std::span<const uint32_t> nodes, Route route) const;

    // The way from one node to the other, if there is one.
    std::optional<uint32_t> way(uint32_t node, uint32_t other) const;

    uint32_t zone_of(uint32_t node) const { return zone_of_[node]; }

  private:
    std::vector<std::pair<uint32_t, uint32_t>> counted(std::span<const uint32_t> nodes) const;
    uint32_t way_between(uint32_t zone, uint32_t other) const;

    const Scenario& scenario_;
    std::vector<Channel> channels_;
    std::vector<uint32_t> zone_of_;  // by node
    uint32_t zones_ = 0;
    uint32_t first_way_ = 0;
};

// The number of different zones. Nodes without a zone are in one zone together.
size_t zones_of(const Scenario& scenario);

}  // namespace pace::simulator
