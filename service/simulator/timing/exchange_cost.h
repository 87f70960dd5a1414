// The cost of an exchange alone, before other exchanges share the resources (shares.h).
//
// An exchange has S bytes, among workers on n nodes, with m_k workers on node k:
//   summing = max_k 2 m_k S / memory_k       the node reads m_k buffers and writes m_k results
//   moving  = 2 (n - 1) / n S / link (n > 1) every node sends its part of a block straight to the
//                                            block's owner, which sends the sum to all: the direct
//                                            exchange, in two hops; less if compressed (travel.h);
//                                            as fast as the ways between zones allow (zones.h)
//   latency = 2 latency              (n > 1) and, if compressed, the time to choose what is sent
//
// The parts follow one after the other. A worker alone has nothing to exchange. Two effects are not
// modelled: the overlap of summing and moving, and many senders to one receiver.
#pragma once

#include <span>
#include <vector>

#include "base/clock.h"
#include "service/simulator/model/scenario.h"
#include "service/simulator/model/stage.h"
#include "service/simulator/model/zones.h"

namespace pace::simulator {

struct ExchangeCost {
    Stage summing;         // one stream for each worker
    Stage moving;          // one stream for each node
    double latency_s = 0;  // not shared
};

class ExchangeCosts {
  public:
    // `scenario` must outlive this object.
    explicit ExchangeCosts(const Scenario& scenario) : scenario_(scenario), zones_(scenario) {}

    // `candidate` says what is compressed.
    ExchangeCost cost_of(std::span<const controller::Rank> members,
                         const Candidate& candidate) const;

    // The time if no other exchange uses the resources.
    base::Duration alone(const ExchangeCost& cost) const;

    // The channels that the stages use.
    const std::vector<Channel>& channels() const { return zones_.channels(); }

  private:
    double latency_s(std::span<const uint32_t> nodes, double hops, Zones::Route route) const;
    base::Duration alone(const Stage& stage) const;

    const Scenario& scenario_;
    Zones zones_;
};

}  // namespace pace::simulator
