// What an exchange costs, before others share what it uses (shares.h).
//
// S bytes, among workers on n nodes, m_k of them on node k:
//   summing = max_k 2 m_k S / memory_k       the node reads m_k buffers and writes m_k results
//   moving  = 2 (n - 1) / n S / link (n > 1) every node sends its part of a block straight to the block's owner, who sends
//                                            the sum to all: the direct exchange, in two hops; less if compressed (travel.h); and
//                                            as fast as the ways between zones allow (zones.h)
//   latency = 2 latency              (n > 1) and the time to choose what is sent, if compressed
// one after the other. A worker alone has nothing to exchange. Not modelled: the overlap of summing and moving, many
// senders meeting at one receiver.
#pragma once

#include <span>
#include <vector>

#include "base/clock.h"
#include "service/simulator/scenario.h"
#include "service/simulator/stage.h"
#include "service/simulator/zones.h"

namespace pace::simulator {

struct ExchangeCost {
    Stage summing;         // a stream for each worker
    Stage moving;          // a stream for each node
    double latency_s = 0;  // what nobody shares
};

class ExchangeCosts {
  public:
    // `scenario` outlives this.
    explicit ExchangeCosts(const Scenario& scenario) : scenario_(scenario), zones_(scenario) {}

    // `candidate` says what is compressed.
    ExchangeCost cost_of(std::span<const controller::Rank> members,
                         const Candidate& candidate) const;

    // With nobody else about.
    base::Duration alone(const ExchangeCost& cost) const;

    // What the stages use.
    const std::vector<Channel>& channels() const { return zones_.channels(); }

  private:
    double latency_s(std::span<const uint32_t> nodes, double hops, Zones::Route route) const;
    base::Duration alone(const Stage& stage) const;

    const Scenario& scenario_;
    Zones zones_;
};

}  // namespace pace::simulator
