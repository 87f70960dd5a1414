// Residual: what a worker's exchanges have not delivered yet, one float per element. A residual is
// state of the training. It is saved with checkpoints and kept over changes of membership. When a
// worker leaves in order, its residual is handed over and not lost.
//
// An exchange may fail after it has begun. It therefore works on a second vector. begin() lends
// this vector, commit() makes it the residual, and discard() forgets it. A Residual takes twice the
// gradient's memory, and an exchange touches the memory once.
//
// Both vectors are here on the host, or both are in other memory (FarGradient), for exchanges that
// run in that memory.
//
// Saved form, little-endian:
//
//     | "PACERESI" | version u32 | 0 u32 | count u64 | count floats | XXH3 u64 of all before |
//
// Used by one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/sparse/residual/floats.h"
#include "daemon/sparse/residual/gradient_store.h"

namespace pace::sparse {

inline constexpr uint32_t kResidualVersion = 1;

class Residual {
  public:
    // Zeros.
    explicit Residual(size_t count = 0) : count_(count), values_(count) {}

    size_t count() const { return count_; }
    // The values of a residual that is here.
    std::span<const float> values() const { return values_.span(); }
    // Shares the values with a reader while an exchange works on the next ones. The values stay
    // unchanged until another exchange begins.
    std::shared_ptr<const float> share() const { return values_.share(); }
    // Copies the values, wherever the residual is. Blocks. Returns an error if a device has failed.
    base::Result<> read(std::span<float> ret_values) const;

    // The number of exchanges since the residual was last empty. 0 means that all elements are
    // zero. The number counts what commit() is told, and looks at no element.
    uint64_t exchanges_kept() const { return exchanges_kept_; }
    // Called before add() changes the residual. The residual then counts as kept for at least one
    // exchange.
    void begin_to_keep() { exchanges_kept_ = std::max<uint64_t>(exchanges_kept_, 1); }

    // Lends count() floats with undefined contents for the next residual. They are valid until
    // commit(), discard() or begin(). If the residual is in other memory, the returned span is
    // empty: far() has the memory.
    std::span<float> begin();
    // `is_empty` means that all elements of the next residual are zero.
    void commit(bool is_empty = false);
    void discard() {
        if (begun_) begun_ = false;
    }
    bool begun() const { return begun_; }
    // Changes elements of the next residual.
    void write_next(size_t begin, std::span<const uint32_t> indices, std::span<const float> values);

    // The other memory that holds the residual. Null if the residual is here.
    const std::shared_ptr<FarGradient>& far() const { return far_; }
    // Moves the residual to other memory, which has the same values already, or back here. Called
    // between exchanges: an exchange that has begun is discarded.
    void move_to(std::shared_ptr<FarGradient> far);
    void move_here(Floats values);
    // Declares that the residual must not be moved to other memory any more.
    void keep_here() { stays_here_ = true; }
    bool stays_here() const { return stays_here_; }

    // Adds another worker's residual to this one, which must be here. This worker then delivers the
    // other's values too. Returns ErrorKind::invalid if the counts differ or if an exchange has
    // begun.
    base::Result<> absorb(std::span<const float> other);
    // Adds to the elements from `begin` on. The residual must be here and in no exchange.
    void add(size_t begin, std::span<const float> other);
    // Hands out the memory of a residual that is here. The residual has no elements afterwards.
    Floats give_up();

    // Saves a residual that is here.
    std::vector<std::byte> save() const;
    // Returns ErrorKind::corrupt or ErrorKind::version for bytes that save() did not write.
    static base::Result<Residual> load(std::span<const std::byte> bytes_untrusted);

  private:
    size_t count_;
    Floats values_;
    Floats next_;
    std::shared_ptr<FarGradient> far_;
    bool stays_here_ = false;
    bool begun_ = false;
    uint64_t exchanges_kept_ = 0;
};

}  // namespace pace::sparse
