// Tally: buffers whose sum can be read. Each rank has two elements of sixteen. One element has a 1,
// and the other has the number of the rank's step. So a sum shows how many gradients or updates of
// which ranks it holds, and the sum of their steps.
//
// The sixteen elements repeat over the whole buffer. Each repetition has another factor, so that a
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

    // Reads the contents of a buffer. `wrong` stays empty if the buffer is a sum of such buffers,
    // whole and untorn.
    static Tally read(std::span<const float> data, std::string& wrong);

    uint64_t count(uint32_t rank) const { return counts_.at(rank); }
    uint64_t steps(uint32_t rank) const { return steps_.at(rank); }
    // Returns the ranks of which the tally holds something, as one bit each.
    uint32_t ranks() const;
    // "RANK:COUNT:STEPS,...", or "-" if it holds nothing.
    std::string text() const;

  private:
    std::array<uint64_t, kRanks> counts_{};
    std::array<uint64_t, kRanks> steps_{};
};

}  // namespace pace::storms
