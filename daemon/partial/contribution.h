// Contribution: what one worker gives to one round. This is a gradient, or the sum of several late
// gradients.
//
// A Contribution is lent as long as the worker's memory may stay unchanged: it then refers to this
// memory. Otherwise it owns memory. G' = stale + new (eager-SGD, section 5) is added in this order,
// in f64 for f64 and in f32 for the other types, and rounded once to the element type
// (kernels/reduce.h). A Contribution can only be moved, so it counts in exactly one round. Used by
// one thread at a time. A strand does the work of copying and adding. The Contribution changes its
// state at once, but its memory may be read only when the strand has done the work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/memory/block.h"
#include "base/result.h"
#include "daemon/collectives/layout/local_part.h"
#include "daemon/kernels/strand.h"
#include "daemon/partial/pay.h"

namespace pace::partial {

// A worker's buffers: one pointer per segment. The pointer of an empty segment is ignored.
using Segments = std::vector<const std::byte*>;

// The greatest staleness that is told. kNothing (agreement.h) is the next number.
inline constexpr uint64_t kStalenessTold = 0x7FFFFFFE;

class Contribution {
  public:
    // Makes a Contribution that refers to `segments`. `keep` keeps alive what they point into.
    static Contribution lend(uint64_t base, Segments segments, std::shared_ptr<const void> keep);

    Contribution(Contribution&&) = default;
    Contribution& operator=(Contribution&&) = default;
    Contribution(const Contribution&) = delete;
    Contribution& operator=(const Contribution&) = delete;
    ~Contribution() = default;

    // The base: the number of rounds whose results the worker had when it computed the oldest
    // gradient in this Contribution.
    uint64_t base() const { return base_; }
    // The staleness in rounds if the Contribution goes into `round`. 0 if it was computed for
    // `round`.
    uint32_t staleness(uint64_t round) const {
        const uint64_t behind = round > base_ ? round - base_ : 0;
        return static_cast<uint32_t>(std::min<uint64_t>(behind, kStalenessTold));
    }
    // The number of gradients in the sum.
    uint32_t gradients() const { return gradients_; }
    bool is_lent() const { return memory_ == nullptr; }
    const Segments& segments() const { return segments_; }

    // Owned memory. Other Contributions of the same strand may reuse it.
    using Memory = std::shared_ptr<base::Block>;

    // Copies what is lent. The worker's memory is free when the strand calls `done`. `spare`, if
    // given, is owned memory for the same layout, and is used. `pay` charges for memory that has to
    // be made. Returns ErrorKind::memory if there is no memory. Then nothing changes, and `done` is
    // not called.
    base::Result<> own(const collectives::Layout& layout, kernels::Strand& strand,
                       Memory spare = nullptr, kernels::Strand::Done done = {},
                       const Pay& pay = {});

    // Adds a newer Contribution. The newer one may be destroyed when the strand calls `done`. The
    // arguments and errors are those of own().
    base::Result<> add(const Contribution& newer, const collectives::Layout& layout,
                       kernels::Strand& strand, Memory spare = nullptr,
                       kernels::Strand::Done done = {}, const Pay& pay = {});

    // Hands out the owned memory for reuse. The Contribution is empty afterwards.
    Memory release() { return std::move(memory_); }

  private:
    Contribution() = default;
    base::Result<> sum(const Contribution* newer, const collectives::Layout& layout,
                       kernels::Strand& strand, Memory spare, kernels::Strand::Done done,
                       const Pay& pay);

    uint64_t base_ = 0;
    uint32_t gradients_ = 1;
    Segments segments_;
    std::shared_ptr<const void> keep_;
    Memory memory_;  // laid out as the layout says
};

}  // namespace pace::partial
