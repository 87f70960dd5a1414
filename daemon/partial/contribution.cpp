#include "daemon/partial/contribution.h"

#include <array>
#include <utility>

namespace pace::partial {

using collectives::ByteRange;
using collectives::Layout;
using collectives::LocalPart;
using collectives::Member;

Contribution Contribution::lend(uint64_t base, Segments segments,
                                std::shared_ptr<const void> keep) {
    Contribution lent;
    lent.base_ = base;
    lent.segments_ = std::move(segments);
    lent.keep_ = std::move(keep);
    return lent;
}

base::Result<> Contribution::own(const Layout& layout, kernels::Strand& strand, Memory spare,
                                 kernels::Strand::Done done, const Pay& pay) {
    if (!is_lent()) return {};
    return sum(nullptr, layout, strand, std::move(spare), std::move(done), pay);
}

base::Result<> Contribution::add(const Contribution& newer, const Layout& layout,
                                 kernels::Strand& strand, Memory spare, kernels::Strand::Done done,
                                 const Pay& pay) {
    PACE_TRY(sum(&newer, layout, strand, std::move(spare), std::move(done), pay));
    base_ = std::min(base_, newer.base_);
    gradients_ += newer.gradients_;
    return {};
}

base::Result<> Contribution::sum(const Contribution* newer, const Layout& layout,
                                 kernels::Strand& strand, Memory spare, kernels::Strand::Done done,
                                 const Pay& pay) {
    // Keeps the parts of the sum alive until the sum is made.
    struct Sum {
        LocalPart part;
        std::array<std::shared_ptr<const void>, 2> keep;
        std::array<Memory, 3> memory;
    };
    if (is_lent() && spare == nullptr) {
        PACE_TRY_ASSIGN(made, base::Block::make(layout.bytes(), "a late gradient"));
        const size_t bytes = made.size();
        spare = paid(std::move(made), bytes, pay);
    }
    const Memory out = is_lent() ? std::move(spare) : memory_;
    std::vector<Member> members{{segments_, 1.0}};
    if (newer != nullptr) members.push_back({newer->segments_, 1.0});
    const auto sum = std::make_shared<const Sum>(
        Sum{LocalPart(layout, std::move(members)),
            {keep_, newer != nullptr ? newer->keep_ : nullptr},
            {out, memory_, newer != nullptr ? newer->memory_ : nullptr}});
    memory_ = out;
    for (size_t segment = 0; segment < segments_.size(); ++segment)
        segments_[segment] = out->data() + layout.offset(segment);
    keep_.reset();
    strand.run((1 + sum->part.members().size()) * layout.bytes(), layout.bytes(),
               kernels::Aside::kGrainBytes,
               [sum](size_t begin, size_t end) {
                   sum->part.sum(ByteRange{begin, end}, 1.0, sum->memory.front()->data() + begin);
               },
               std::move(done));
    return {};
}

}  // namespace pace::partial
