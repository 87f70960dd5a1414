// PairKey: what two nodes know and nobody else knows. A connection between the nodes is
// authenticated by it, in both directions.
#pragma once

#include <array>
#include <cstddef>

namespace pace::transports {

struct PairKey {
    // Random, so that it tells nobody which nodes talk. The id crosses the network in clear.
    std::array<std::byte, 16> id{};
    // Random, and known to the two nodes and to the controller only.
    std::array<std::byte, 32> secret{};
};

}  // namespace pace::transports
