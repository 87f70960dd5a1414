#include "daemon/partial/contribution.h"

#include <new>
#include <utility>

namespace pace::partial {

using collectives::ByteRange;
using collectives::Layout;
using collectives::LocalPart;
using collectives::Member;

namespace {

// Of a pass that several threads share.
constexpr size_t kGrainBytes = size_t{1} << 20U;

}  // namespace

Contribution Contribution::lend(uint64_t base, Segments segments,
                                std::shared_ptr<const void> keep) {
    Contribution lent;
    lent.base_ = base;
    lent.segments_ = std::move(segments);
    lent.keep_ = std::move(keep);
    return lent;
}

base::Result<> Contribution::own(const Layout& layout, kernels::WorkerPool& pool,
                                 std::unique_ptr<std::byte[]> spare) {
    if (!is_lent()) return {};
    return sum({{segments_, 1.0}}, layout, pool, std::move(spare));
}

base::Result<> Contribution::add(const Contribution& newer, const Layout& layout,
                                 kernels::WorkerPool& pool, std::unique_ptr<std::byte[]> spare) {
    PACE_TRY(sum({{segments_, 1.0}, {newer.segments_, 1.0}}, layout, pool, std::move(spare)));
    base_ = std::min(base_, newer.base_);
    gradients_ += newer.gradients_;
    return {};
}

base::Result<> Contribution::sum(std::vector<Member> members, const Layout& layout,
                                 kernels::WorkerPool& pool, std::unique_ptr<std::byte[]> spare) {
    if (is_lent()) {
        // Never none: to have memory of its own is not to be lent.
        if (spare == nullptr)
            spare.reset(new (std::nothrow) std::byte[std::max<size_t>(1, layout.bytes())]);
        if (spare == nullptr)
            return base::make_error(base::ErrorKind::memory,
                                    "no memory for a late gradient of {} bytes", layout.bytes());
        memory_ = std::move(spare);
    }
    std::byte* const out = memory_.get();
    const LocalPart part(layout, std::move(members));
    pool.parallel_for(layout.bytes(), kGrainBytes, [&part, out](size_t begin, size_t end) {
        part.sum(ByteRange{begin, end}, 1.0, out + begin);
    });
    for (size_t segment = 0; segment < segments_.size(); ++segment)
        segments_[segment] = out + layout.offset(segment);
    keep_.reset();
    return {};
}

}  // namespace pace::partial
