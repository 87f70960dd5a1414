// Contribution: what one worker gives to one round: a gradient, or the sum of several that were late.
//
// It refers to the worker's own memory as long as that may stay as it is (lent), and otherwise to
// memory of its own. G' = stale + new (eager-SGD, section 5) is added in this order, in f32 for the
// half types and in f64 for f64, and rounded once to the element type: kernels/reduce.h. It counts
// in exactly one round, because it can only be moved. One thread at a time. What copies or adds is work of a strand: the
// contribution is said to be so at once, and its memory may be read when the strand has come to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/block.h"
#include "base/result.h"
#include "daemon/collectives/local_part.h"
#include "daemon/kernels/strand.h"
#include "daemon/partial/pay.h"

namespace pace::partial {

// A worker's buffers: a pointer per segment, ignored where that is empty.
using Segments = std::vector<const std::byte*>;

// The greatest staleness that is told; kNothing (agreement.h) is the next number.
inline constexpr uint64_t kStalenessTold = 0x7FFFFFFE;

class Contribution {
  public:
    // Refers to `segments`; `keep` holds whatever they point into.
    static Contribution lend(uint64_t base, Segments segments, std::shared_ptr<const void> keep);

    Contribution(Contribution&&) = default;
    Contribution& operator=(Contribution&&) = default;
    Contribution(const Contribution&) = delete;
    Contribution& operator=(const Contribution&) = delete;
    ~Contribution() = default;

    // How many rounds the worker had the results of when it computed the oldest gradient in this.
    uint64_t base() const { return base_; }
    // In rounds, when it goes into `round`: 0 if it was computed for it.
    uint32_t staleness(uint64_t round) const {
        const uint64_t behind = round > base_ ? round - base_ : 0;
        return static_cast<uint32_t>(std::min<uint64_t>(behind, kStalenessTold));
    }
    // How many gradients it is the sum of.
    uint32_t gradients() const { return gradients_; }
    bool is_lent() const { return memory_ == nullptr; }
    const Segments& segments() const { return segments_; }

    // Its own memory, for others that are made by the same strand.
    using Memory = std::shared_ptr<base::Block>;

    // Copies what is lent: when the strand calls `done`, the worker's memory is free. `spare`, where it is given, is an
    // own memory for the same layout, and is used; `pay` is for what has to be made. ErrorKind::memory, and nothing changes, nor is
    // `done` called.
    base::Result<> own(const collectives::Layout& layout, kernels::Strand& strand,
                       Memory spare = nullptr, kernels::Strand::Done done = {},
                       const Pay& pay = {});

    // Adds a newer one, which may go when the strand calls `done`. As own().
    base::Result<> add(const Contribution& newer, const collectives::Layout& layout,
                       kernels::Strand& strand, Memory spare = nullptr,
                       kernels::Strand::Done done = {}, const Pay& pay = {});

    // Its own memory, for another to use; afterwards there is nothing left here.
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
