// Addend: one node's contribution to a sum, as bytes of a layout. Ranges are computed when the
// exchange needs them. LocalPart is the usual implementation.
#pragma once

#include <cstddef>
#include <span>

#include "daemon/collectives/layout/layout.h"

namespace pace::collectives {

// An Addend is immutable. So several threads may compute ranges of one exchange at once.
class Addend {
  public:
    virtual ~Addend() = default;

    virtual const Layout& layout() const = 0;

    // Writes scale times this node's own sum over `range` to `out`, rounded once to the layout's
    // types. `out` holds range.size() bytes. Padding becomes zero.
    virtual void sum(ByteRange range, double scale, std::byte* out) const = 0;

    // The node's contribution as sent to other nodes.
    void partial(ByteRange range, std::byte* out) const { sum(range, 1.0, out); }

    // Returns memory that already holds the partial over `range`. The memory stays valid and
    // unchanged until the exchange has ended. Empty means that no memory holds the partial. The
    // payload of NaNs may differ from partial()'s. No sum keeps that payload.
    virtual std::span<const std::byte> direct(ByteRange /*range*/) const { return {}; }
};

}  // namespace pace::collectives
