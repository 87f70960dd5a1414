// What an exchange costs, before others share what it uses (shares.h).
//
// S bytes, among workers on n nodes, m_k of them on node k:
//   summing = max_k 2 m_k S / memory_k       the node reads m_k buffers and writes m_k results
//   moving  = 2 (n - 1) / n S / link (n > 1) every node sends its part of a block straight to the block's owner, who sends
//                                            the sum to all: the direct exchange, in two hops
//   latency = 2 latency              (n > 1)
// one after the other. A worker alone has nothing to exchange. Not modelled: the overlap of summing and moving, many
// senders meeting at one receiver.
#pragma once

#include <span>
#include <vector>

#include "service/simulator/scenario.h"

namespace pace::simulator {

// How many equal streams of an exchange go through a memory or over a link.
struct Use {
    uint32_t channel = 0;  // index into Scenario::channels
    uint32_t streams = 0;
    bool operator==(const Use&) const = default;
};

// Streams of so many bytes each, all of one speed.
struct Stage {
    double bytes = 0;
    std::vector<Use> uses;  // none: it takes no time
};

struct ExchangeCost {
    Stage summing;  // a stream for each worker
    Stage moving;   // a stream for each node
    double latency_s = 0;
};

ExchangeCost cost_of(const Scenario& scenario, std::span<const controller::Rank> members);

}  // namespace pace::simulator
