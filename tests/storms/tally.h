// Tally: buffers whose sum can be read. Each rank has two elements of sixteen for itself: in one it puts a 1, in the other the
// number of its step. A sum so tells how many gradients, or updates, of which ranks it holds, and the sum of their steps.
//
// The sixteen elements repeat over the whole buffer, times a factor that differs from one repetition to the next, so that a
// torn or displaced piece shows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pace::storms {

class Tally {
  public:
    static constexpr uint32_t kRanks = 8;

    // Sums are exact while 5 times the sum of a rank's steps stays below 2^24.
    static void write(std::span<float> data, uint32_t rank, uint64_t step);
    static void clear(std::span<float> data);

    // What a buffer holds. `wrong` stays empty if it is a sum of such buffers, whole and untorn.
    static Tally read(std::span<const float> data, std::string& wrong);

    uint64_t count(uint32_t rank) const { return counts_.at(rank); }
    uint64_t steps(uint32_t rank) const { return steps_.at(rank); }
    // The ranks of which it holds something, a bit each.
    uint32_t ranks() const;
    // "RANK:COUNT:STEPS,...", or "-" if it holds nothing.
    std::string text() const;

  private:
    std::array<uint64_t, kRanks> counts_{};
    std::array<uint64_t, kRanks> steps_{};
};

}  // namespace pace::storms
