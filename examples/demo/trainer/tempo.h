// Tempo: how long each step of a worker lasts.
//
// The workers of the demo share a few cores. Each worker sleeps for the rest of a step. So each
// behaves like a machine of its own, and the slow one like a slow machine, without taking time from
// the others.
#pragma once

#include <chrono>
#include <cstdint>

#include "options.h"

namespace demo {

using Time = std::chrono::steady_clock::time_point;

class Tempo {
  public:
    explicit Tempo(const Options& options);

    // Returns a step's length. With the imbalance "one", one worker is delayed in each step. All
    // workers draw the same one. With "all", worker i is delayed by i times delay_ms, and the
    // numbers i shift from step to step (Li et al., PPoPP 2020, sections 7.2.2 and 7.2.3). So all
    // workers are equally fast in the long run.
    std::chrono::duration<double, std::milli> length_of(uint64_t step) const;

    // Blocks until the step that began at `begin` has lasted as long as it should.
    void sleep_out(uint64_t step, Time begin) const;

  private:
    enum class Imbalance : uint8_t { none, one, all };

    uint32_t delays(uint64_t step) const;

    uint32_t rank_;
    uint32_t world_;
    uint64_t seed_;
    double step_ms_;
    double delay_ms_;
    Imbalance imbalance_;
};

}  // namespace demo
