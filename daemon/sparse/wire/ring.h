// Ring: some nodes of an exchange that run a step among themselves, with ranks of their own. The
// nodes are all nodes, or a team, or the nodes of one position in all teams.
#pragma once

#include <cstddef>

namespace pace::sparse {

struct Ring {
    size_t first = 0;   // the node of rank 0
    size_t stride = 1;  // the distance from one rank's node to the next rank's node
    size_t size = 1;
    size_t self = 0;  // the rank of this node

    // Ranks are taken modulo the size.
    size_t node(size_t rank) const { return first + stride * (rank % size); }
    size_t after(size_t distance) const { return (self + distance) % size; }
    size_t before(size_t distance) const { return (self + size - distance % size) % size; }
};

inline Ring ring_of_all(size_t nodes, size_t self) {
    return {0, 1, nodes, self};
}

// Team x has the nodes x·P/d … (x + 1)·P/d - 1.
inline Ring team_of(size_t nodes, size_t teams, size_t self) {
    const size_t size = nodes / teams;
    return {self / size * size, 1, size, self % size};
}

// The nodes that have this node's rank in their teams, in the teams' order.
inline Ring position_of(size_t nodes, size_t teams, size_t self) {
    const size_t size = nodes / teams;
    return {self % size, size, teams, self / size};
}

}  // namespace pace::sparse
