// Zones: which nodes of an exchange are near each other (in one rack or data center), and which
// node of each zone is the relay of a block whose owner is in another zone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pace::collectives {

// Zones are numbered in the order of their first nodes. So sums in this order depend on the nodes
// alone, and not on the numbers given to places.
class Zones {
  public:
    // `places` has one number per node. Nodes near each other have equal numbers. 0 is an ordinary
    // number. Empty means that all nodes are near each other.
    Zones(std::span<const uint32_t> places, size_t nodes);

    size_t count() const { return members_.size(); }
    size_t of(size_t node) const { return zone_[node]; }
    // The zone's nodes, in node order.
    const std::vector<size_t>& members(size_t zone) const { return members_[zone]; }

    // Returns whether relays save traffic: there are several zones, and one of them has several
    // nodes.
    bool relays_help() const { return count() > 1 && count() < zone_.size(); }

    // Returns the node of `zone` that sums the zone's partials of a block. This is the owner in its
    // own zone, and a relay elsewhere. The zone's nodes take turns as relays of the blocks from
    // outside, zone after zone. So the numbers of blocks that they relay differ by at most one.
    size_t carrier(size_t block, size_t zone) const;
    // Returns the blocks whose carrier in its own zone is `node`: the blocks that the node relays,
    // then its own.
    std::vector<size_t> carried_by(size_t node) const;

  private:
    std::vector<size_t> zone_;                  // by node
    std::vector<std::vector<size_t>> members_;  // by zone
    // The position of each node in the list of all nodes, zone after zone.
    std::vector<size_t> position_;
    // The position of each zone's first node.
    std::vector<size_t> first_position_;
};

}  // namespace pace::collectives
