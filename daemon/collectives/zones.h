// Zones: which nodes of an exchange are near each other (a rack, a data center), and which node of
// each zone is the relay for a block whose owner is in another zone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pace::collectives {

// Zones are numbered here in the order of their first nodes, so that what is summed in this order
// depends on the nodes alone, not on the numbers that somebody gave to places.
class Zones {
  public:
    // `places` has one number per node, equal for nodes that are near each other: 0 like any other.
    // Empty: all are near.
    Zones(std::span<const uint32_t> places, size_t nodes);

    size_t count() const { return members_.size(); }
    size_t of(size_t node) const { return zone_[node]; }
    // In node order.
    const std::vector<size_t>& members(size_t zone) const { return members_[zone]; }

    // Whether relays save anything: several zones, and one of them with several nodes.
    bool relays_help() const { return count() > 1 && count() < zone_.size(); }

    // Where the partials of a zone's nodes for a node's block meet: at its owner in the owner's own
    // zone, elsewhere at its relay. The relays of the blocks from outside take turns, zone after
    // zone, so that each node of a zone has as many as the others, or one more.
    size_t carrier(size_t block, size_t zone) const;
    // The blocks whose carrier `node` is in its own zone: those it relays, then its own.
    std::vector<size_t> carried_by(size_t node) const;

  private:
    std::vector<size_t> zone_;                  // by node
    std::vector<std::vector<size_t>> members_;  // by zone
    std::vector<size_t> position_;              // by node: among all, zone after zone
    std::vector<size_t> first_position_;        // by zone: of its first node
};

}  // namespace pace::collectives
