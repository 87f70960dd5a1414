// ServerWays: what a push or a pull uses of memories, links and the ways between zones (server.h).
#pragma once

#include <vector>

#include "service/simulator/model/scenario.h"
#include "service/simulator/model/stage.h"
#include "service/simulator/model/zones.h"

namespace pace::simulator {

class ServerWays {
  public:
    // `scenario` must outlive this object.
    explicit ServerWays(const Scenario& scenario);

    enum class Direction : uint8_t { push, pull };

    // The stage on the worker's node.
    Stage copying(controller::Rank rank) const;
    // The stage among nodes. It has no uses if there is only one node.
    Stage moving(controller::Rank rank, Direction direction) const;
    // The latency of a message between the worker and the servers.
    double latency_s(controller::Rank rank) const;

    // The channels in order: those of the scenario and between zones, outward. Then the same,
    // inward. Then the channel that all pushes share. Then the channel that all pulls share.
    const std::vector<Channel>& channels() const { return channels_; }

  private:
    uint32_t inward(uint32_t channel) const { return channel + one_way_; }

    const Scenario& scenario_;
    Zones zones_;
    std::vector<uint32_t> nodes_;   // that have workers
    std::vector<uint32_t> places_;  // one node of each zone
    std::vector<double> nodes_of_place_;
    uint32_t one_way_ = 0;
    std::vector<Channel> channels_;
};

}  // namespace pace::simulator
