// GradientPart: a node's G = Σ weight · member + residual, as the node's addend in a dense sum. The
// addend is f32, whatever the buffers' types are. G is stored nowhere: each range is formed when it
// is sent or summed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "daemon/collectives/layout/addend.h"
#include "daemon/collectives/layout/local_part.h"
#include "daemon/sparse/wire/packed.h"

namespace pace::sparse {

class GradientPart final : public collectives::Addend {
  public:
    // The referenced objects must outlive the GradientPart. `residual` has packed.count() elements.
    GradientPart(const collectives::LocalPart& part, const Packed& packed,
                 std::span<const float> residual);

    // The buffers' layout with f32 in every segment.
    const collectives::Layout& layout() const override { return layout_; }
    void sum(collectives::ByteRange range, double scale, std::byte* out) const override;

    // Whether layout() equals the buffers' own layout.
    bool is_f32() const { return is_f32_; }

  private:
    const collectives::LocalPart& part_;
    collectives::Layout layout_;
    bool is_f32_;
    // The sources of each segment. The residual is the last source. The members are sources where
    // they are f32.
    std::vector<std::vector<kernels::Source>> sources_;
};

}  // namespace pace::sparse
