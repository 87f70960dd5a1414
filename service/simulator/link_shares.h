// LinkShares: exchanges that move over shared links, in virtual time.
//
// Every node that sends over a link gets an equal share of it, and an exchange is as fast as its slowest node:
//   rate = min over its links (bytes per second of the link / nodes of all exchanges that send over it).
// What a slower exchange leaves of its share is not given to others. Whenever an exchange begins or ends, the rates of
// those that share a link with it change at once.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "service/simulator/exchange_cost.h"

namespace pace::simulator {

using base::TimePoint;

class LinkShares {
  public:
    explicit LinkShares(std::span<const Link> links);

    // `id` is small and not in use; time never goes back. The cost has bytes and links.
    void begin(uint32_t id, const ExchangeCost& cost, TimePoint now);

    // When the next exchange has moved its bytes.
    std::optional<TimePoint> next_end();

    // Ends that one, and says which it was. Only when next_end() has a time.
    uint32_t end_next();

  private:
    struct Flow {
        double bytes_left = 0;
        double bytes_per_s = 0;
        TimePoint since;       // of bytes_left
        uint64_t version = 0;  // of its entry in endings_ that counts
        std::vector<LinkUse> links;
    };
    struct Shared {
        double bytes_per_s = 0;
        uint32_t nodes = 0;
        std::vector<uint32_t> flows;
    };
    struct Ending {
        TimePoint when;
        uint64_t version = 0;  // in order of their making, so that ties have an order
        uint32_t id = 0;
        bool operator>(const Ending& other) const {
            return when != other.when ? when > other.when : version > other.version;
        }
    };

    void refresh_beside(const std::vector<LinkUse>& links, TimePoint now);
    void refresh(uint32_t id, TimePoint now);
    void drop_stale();

    std::vector<Shared> links_;
    std::vector<Flow> flows_;  // by id
    uint64_t next_version_ = 1;
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
};

}  // namespace pace::simulator
