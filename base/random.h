// Random numbers. Random is a small seeded generator for decisions that must be repeatable.
// random_token() takes bytes of the operating system, for tokens that nobody may guess.
#pragma once

#include <sys/random.h>

#include <atomic>
#include <cstdint>

namespace pace::base {

// SplitMix64 (Steele, Lea, Flood 2014): 64 bits of state, good enough for scheduling and tests.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31U);
    }

    // Uniform in [0, bound), with bound > 0. The bias is at most bound/2^64, which does not matter
    // here.
    uint64_t below(uint64_t bound) {
        __extension__ using Wide = unsigned __int128;
        return static_cast<uint64_t>((static_cast<Wide>(next()) * bound) >> 64U);
    }

    // Uniform in [0, 1).
    double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  private:
    uint64_t state_;
};

namespace detail {
// Where a simulation's tokens come from. Null: there is no simulation.
inline std::atomic<Random*> simulated_tokens{nullptr};
}  // namespace detail

// An unguessable number from the operating system, never 0.
inline uint64_t random_token() {
    if (Random* const simulated = detail::simulated_tokens) return simulated->next() | 1U;
    uint64_t token = 0;
    while (token == 0) {
        if (getrandom(&token, sizeof(token), 0) != static_cast<ssize_t>(sizeof(token))) token = 0;
    }
    return token;
}

}  // namespace pace::base
