// What an exchange costs besides sharing its links (link_shares).
//
// S bytes, among workers on n nodes, m_k of them on node k:
//   fixed   = max_k 2 m_k S / memory_k       the node reads m_k buffers and writes m_k results
//           + 2 latency            (n > 1)   the two hops of the direct exchange: every node sends its part of a
//                                            block straight to the block's owner, who sends the sum to all
//   moving  = 2 (n - 1) / n S      (n > 1)   bytes that each node sends, and as many that it receives
// A worker alone has nothing to exchange. Not modelled: the overlap of summing and moving, the rivalry of groups for a
// node's memory, many senders meeting at one receiver.
#pragma once

#include <span>
#include <vector>

#include "service/simulator/scenario.h"

namespace pace::simulator {

// How many nodes of an exchange send over a link.
struct LinkUse {
    uint32_t link = 0;
    uint32_t nodes = 0;
    bool operator==(const LinkUse&) const = default;
};

struct ExchangeCost {
    double fixed_s = 0;
    double bytes_per_node = 0;   // over its link; 0: none
    std::vector<LinkUse> links;  // none if no bytes move
};

ExchangeCost cost_of(const Scenario& scenario, std::span<const controller::Rank> members);

}  // namespace pace::simulator
