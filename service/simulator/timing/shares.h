// Shares: exchanges that use memories and links together, in virtual time.
//
// Every stream through a channel gets an equal share of the channel. A stage of an exchange is as
// fast as its slowest stream:
//   rate = min over its channels of (bytes per second there / streams of all exchanges there).
//
// If an exchange is slower than its share, the rest of its share is not given to other exchanges.
// When a stage begins or ends, the rates of the exchanges that share a channel with it change at
// once.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "base/clock.h"
#include "service/simulator/model/scenario.h"
#include "service/simulator/model/stage.h"

namespace pace::simulator {

using base::TimePoint;

class Shares {
  public:
    explicit Shares(std::span<const Channel> channels);

    // Begins a stage. `id` is small and not in use. Time never goes back. The stage must have uses.
    void begin(uint32_t id, const Stage& stage, TimePoint now);

    // The time at which the next exchange has moved the bytes of its stage.
    std::optional<TimePoint> next_end();

    // Ends this stage and returns its id. Called only when next_end() has a time.
    uint32_t end_next();

  private:
    struct Flow {
        double bytes_left = 0;
        double bytes_per_s = 0;
        TimePoint since;       // the time at which bytes_left was right
        uint64_t version = 0;  // of its valid entry in endings_
        std::vector<Use> uses;
    };
    struct Shared {
        double bytes_per_s = 0;
        double streams = 0;
        std::vector<uint32_t> flows;
    };
    struct Ending {
        TimePoint when;
        uint64_t version = 0;  // in the order of creation, so that ties have an order
        uint32_t id = 0;
        bool operator>(const Ending& other) const {
            return when != other.when ? when > other.when : version > other.version;
        }
    };

    void refresh_beside(const std::vector<Use>& uses, TimePoint now);
    void refresh(uint32_t id, TimePoint now);
    void drop_stale();

    std::vector<Shared> channels_;
    std::vector<Flow> flows_;  // by id
    uint64_t next_version_ = 1;
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
};

}  // namespace pace::simulator
