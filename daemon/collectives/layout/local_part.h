// LocalPart: this node's contribution to an exchange. It consists of the members' buffers and
// weights.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "daemon/collectives/layout/addend.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/kernels/reduce.h"

namespace pace::collectives {

// One contributing worker. There is one pointer per segment. The pointer is ignored if the segment
// is empty. The exchange only reads the memory. The memory must stay valid and unchanged until the
// exchange has ended.
struct Member {
    std::vector<const std::byte*> segments;
    double weight = 1.0;
};

// The members' weighted sum, each element rounded once to its type.
class LocalPart final : public Addend {
  public:
    // `members` in rank order. Without members the node contributes zeros.
    LocalPart(Layout layout, std::vector<Member> members);

    const Layout& layout() const override { return layout_; }
    const std::vector<Member>& members() const { return members_; }

    // One source per member, in rank order.
    std::span<const kernels::Source> sources(size_t segment) const { return sources_[segment]; }

    void sum(ByteRange range, double scale, std::byte* out) const override;

    // Copies the bytes of the only member over `range` to `out` unchanged: a NaN keeps its payload.
    // Padding becomes zero.
    void copy(ByteRange range, std::byte* out) const;

    // Returns the member's own memory if there is one member with weight 1 and the range lies
    // within one segment, without padding.
    std::span<const std::byte> direct(ByteRange range) const override;

  private:
    Layout layout_;
    std::vector<Member> members_;
    std::vector<std::vector<kernels::Source>> sources_;  // by segment, then member
};

}  // namespace pace::collectives
