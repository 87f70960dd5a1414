// Residual: what a worker's exchanges have not delivered yet, one float per element. It is state of
// the training: saved with checkpoints, kept over changes of membership, and handed over, not lost,
// when a worker leaves in order.
//
// An exchange may fail after it has begun. It therefore works on a second vector: begin() lends it,
// commit() makes it the residual, discard() forgets it. Twice the gradient's memory; touched once.
//
// Both vectors are here, or both in other memory (FarGradient), for exchanges that run there.
//
// Saved form, little-endian:
//
//     | "PACERESI" | version u32 | 0 u32 | count u64 | count floats | XXH3 u64 of all before |
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/sparse/floats.h"
#include "daemon/sparse/gradient_store.h"

namespace pace::sparse {

inline constexpr uint32_t kResidualVersion = 1;

class Residual {
  public:
    // Zeros.
    explicit Residual(size_t count = 0) : count_(count), values_(count) {}

    size_t count() const { return count_; }
    // Of one that is here.
    std::span<const float> values() const { return values_.span(); }
    // The same, for whoever reads them while an exchange works on the next one: they stay as they are until another begins.
    std::shared_ptr<const float> share() const { return values_.share(); }
    // Copies it, wherever it is. Blocks. Fails if a device has.
    base::Result<> read(std::span<float> ret_values) const;

    // Lends count() floats with undefined contents for the next residual; valid until commit(),
    // discard() or begin(). None of one that is elsewhere: its far() has them.
    std::span<float> begin();
    void commit();
    void discard() {
        if (begun_) begun_ = false;
    }
    bool begun() const { return begun_; }
    // Changes the next one.
    void write_next(size_t begin, std::span<const uint32_t> indices, std::span<const float> values);

    // Where it is if it is not here, otherwise null.
    const std::shared_ptr<FarGradient>& far() const { return far_; }
    // From now on it is there, where the same values are already; or here again. Between exchanges:
    // one that has begun is discarded.
    void move_to(std::shared_ptr<FarGradient> far);
    void move_here(Floats values);
    // It is not to be moved away any more.
    void keep_here() { stays_here_ = true; }
    bool stays_here() const { return stays_here_; }

    // Adds another worker's residual to this one, which is here: what it owed is owed here.
    // ErrorKind::invalid if the counts differ or an exchange has begun.
    base::Result<> absorb(std::span<const float> other);
    // Adds to the elements from `begin` on, of one that is here and in no exchange.
    void add(size_t begin, std::span<const float> other);
    // Hands out the memory of one that is here, and has no elements from now on.
    Floats give_up();

    // Of one that is here.
    std::vector<std::byte> save() const;
    // ErrorKind::corrupt, or version, of bytes that save() did not write.
    static base::Result<Residual> load(std::span<const std::byte> bytes_untrusted);

  private:
    size_t count_;
    Floats values_;
    Floats next_;
    std::shared_ptr<FarGradient> far_;
    bool stays_here_ = false;
    bool begun_ = false;
};

}  // namespace pace::sparse
