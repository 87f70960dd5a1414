// LocalPart: what this node contributes to an exchange, the buffers of its members and their
// weights.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "daemon/collectives/layout.h"
#include "daemon/kernels/reduce.h"

namespace pace::collectives {

// One contributing worker: a pointer per segment (ignored where the segment is empty) to memory
// that the exchange only reads, and that stays valid and unchanged until the exchange has ended.
struct Member {
    std::vector<const std::byte*> segments;
    double weight = 1.0;
};

// Immutable, so that the pieces of one exchange may be computed in several threads.
class LocalPart {
  public:
    // `members` in rank order; without members the node contributes zeros.
    LocalPart(Layout layout, std::vector<Member> members);

    const Layout& layout() const { return layout_; }
    const std::vector<Member>& members() const { return members_; }

    // One source per member, in rank order.
    std::span<const kernels::Source> sources(size_t segment) const { return sources_[segment]; }

    // Writes scale · Σ weight · member over `range` to `out`, which holds range.size() bytes;
    // padding becomes zero.
    void sum(ByteRange range, double scale, std::byte* out) const;

    // The node's contribution as it goes over the wire: the members' weighted sum, rounded once to
    // the element type.
    void partial(ByteRange range, std::byte* out) const { sum(range, 1.0, out); }

    // The members' own memory, where it already is the partial: one member with weight 1 and a
    // range within one segment, padding excluded. Otherwise empty. The bytes may differ from
    // partial() in the payload of NaNs, which no sum keeps.
    std::span<const std::byte> direct(ByteRange range) const;

  private:
    Layout layout_;
    std::vector<Member> members_;
    std::vector<std::vector<kernels::Source>> sources_;  // by segment, then member
};

}  // namespace pace::collectives
