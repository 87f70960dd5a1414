// Residual: what a worker's exchanges have not delivered yet, one float per element. It is state of
// the training: saved with checkpoints, kept over changes of membership, and handed over, not lost,
// when a worker leaves in order.
//
// An exchange may fail after it has begun. It therefore works on a second vector: begin() lends it,
// commit() makes it the residual, discard() forgets it. Twice the gradient's memory; touched once.
//
// Saved form, little-endian:
//
//     | "PACERESI" | version u32 | 0 u32 | count u64 | count floats | XXH3 u64 of all before |
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace pace::sparse {

inline constexpr uint32_t kResidualVersion = 1;

class Residual {
  public:
    // Zeros.
    explicit Residual(size_t count = 0) : values_(count, 0.0F) {}

    size_t count() const { return values_.size(); }
    std::span<const float> values() const { return values_; }

    // Lends count() floats with undefined contents for the next residual; valid until commit(),
    // discard() or begin().
    std::span<float> begin();
    void commit();
    void discard() { begun_ = false; }
    bool begun() const { return begun_; }
    // What begin() has lent.
    std::span<float> next() { return next_; }

    // Adds another worker's residual to this one: what it owed is owed here. ErrorKind::invalid if
    // the counts differ or an exchange has begun.
    base::Result<> absorb(std::span<const float> other);

    std::vector<std::byte> save() const;
    // ErrorKind::corrupt, or version, of bytes that save() did not write.
    static base::Result<Residual> load(std::span<const std::byte> bytes_untrusted);

  private:
    std::vector<float> values_;
    std::vector<float> next_;
    bool begun_ = false;
};

}  // namespace pace::sparse
