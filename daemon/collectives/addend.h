// Addend: what one node adds to a sum, as it travels: bytes of a layout, made a range at a time,
// when they are needed. LocalPart is the usual one.
#pragma once

#include <cstddef>
#include <span>

#include "daemon/collectives/layout.h"

namespace pace::collectives {

// Immutable, so that ranges of one exchange may be made in several threads.
class Addend {
  public:
    virtual ~Addend() = default;

    virtual const Layout& layout() const = 0;

    // Writes scale times this node's own sum over `range`, rounded once to the layout's types, to
    // `out`, which holds range.size() bytes; padding becomes zero.
    virtual void sum(ByteRange range, double scale, std::byte* out) const = 0;

    // The node's contribution as it goes over the wire.
    void partial(ByteRange range, std::byte* out) const { sum(range, 1.0, out); }

    // Memory that already is the partial over `range`, and stays valid and unchanged until the
    // exchange has ended; empty if there is none. The bytes may differ from partial() in the payload
    // of NaNs, which no sum keeps.
    virtual std::span<const std::byte> direct(ByteRange /*range*/) const { return {}; }
};

}  // namespace pace::collectives
