// Zones: what joins the nodes of several racks or data centers, and what an exchange sends over it.
//
// Each pair of zones has one way, which all exchanges between the two share (shares.h). Of n nodes in an exchange, a in one zone and
// b in another, this goes over it each way, when each node sends 2 (n - 1) / n S bytes (docs/decisions/0014):
//   direct: 2 a b / n S          each node sends its part of a block straight to the block's owner
//   relays: (a + b) / n S        where some zone has several of the nodes: its parts of a block leave it as one
// As streams beside those of the nodes' links: a b / (n - 1), and (a + b) / (2 (n - 1)). A message takes two hops directly, and two
// within zones and two between them with relays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "service/simulator/scenario.h"
#include "service/simulator/stage.h"

namespace pace::simulator {

// So many zones may have bounded ways: a channel for each two of them.
inline constexpr size_t kZonesMax = 64;

class Zones {
  public:
    // Ways are channels that come after the scenario's own.
    explicit Zones(const Scenario& scenario);

    // The scenario's channels, and the ways.
    const std::vector<Channel>& channels() const { return channels_; }

    // Whether it takes longer from one zone to another at all, and some of these nodes are in others than the rest.
    bool are_crossed(std::span<const uint32_t> nodes) const;

    enum class Route : uint8_t { direct, relays };
    // With relays where Pace uses them.
    Route route_of(std::span<const uint32_t> nodes) const;

    // The streams over ways; none if nothing bounds these.
    std::vector<Use> crossing(std::span<const uint32_t> nodes, Route route) const;

    // The way from the one node to the other, if there is one.
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

// The number of different zones; nodes without one are in one together.
size_t zones_of(const Scenario& scenario);

}  // namespace pace::simulator
