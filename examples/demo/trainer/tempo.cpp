#include "tempo.h"

#include <random>
#include <thread>

namespace demo {

Tempo::Tempo(const Options& options)
    : rank_(options.rank),
      world_(options.world),
      seed_(options.seed),
      step_ms_(options.step_ms * options.slowdown),
      delay_ms_(options.delay_ms),
      imbalance_(options.imbalance == "one"   ? Imbalance::one
                 : options.imbalance == "all" ? Imbalance::all
                                              : Imbalance::none) {}

// Returns how many times delay_ms the step lasts longer.
uint32_t Tempo::delays(uint64_t step) const {
    switch (imbalance_) {
        case Imbalance::none:
            return 0;
        case Imbalance::one: {
            std::seed_seq both{seed_, step};
            std::mt19937 random(both);
            return random() % world_ == rank_ ? 1 : 0;
        }
        case Imbalance::all:
            return static_cast<uint32_t>((rank_ + step) % world_);
    }
    return 0;
}

std::chrono::duration<double, std::milli> Tempo::length_of(uint64_t step) const {
    return std::chrono::duration<double, std::milli>(step_ms_ + delays(step) * delay_ms_);
}

void Tempo::sleep_out(uint64_t step, Time begin) const {
    std::this_thread::sleep_until(
        begin + std::chrono::duration_cast<std::chrono::nanoseconds>(length_of(step)));
}

}  // namespace demo
