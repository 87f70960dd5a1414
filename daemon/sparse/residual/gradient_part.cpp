#include "daemon/sparse/residual/gradient_part.h"

#include <algorithm>

#include "daemon/sparse/residual/gradient.h"

namespace pace::sparse {

using collectives::Layout;
using collectives::Piece;
using collectives::Segment;
using protocol::DType;

namespace {

Layout in_f32(const Layout& layout) {
    std::vector<Segment> segments = layout.segments();
    for (Segment& segment : segments) segment.dtype = DType::f32;
    return Layout(std::move(segments));
}

}  // namespace

GradientPart::GradientPart(const collectives::LocalPart& part, const Packed& packed,
                           std::span<const float> residual)
    : part_(part),
      layout_(in_f32(part.layout())),
      is_f32_(std::all_of(part.layout().segments().begin(), part.layout().segments().end(),
                          [](const Segment& segment) { return segment.dtype == DType::f32; })),
      sources_(layout_.segments().size()) {
    for (size_t segment = 0; segment < sources_.size(); ++segment) {
        const auto owed = std::as_bytes(residual.subspan(packed.begin(segment)));
        if (part.layout().segments()[segment].dtype == DType::f32) {
            const std::span<const kernels::Source> members = part.sources(segment);
            sources_[segment].assign(members.begin(), members.end());
        }
        sources_[segment].push_back({owed.data(), 1.0});
    }
}

void GradientPart::sum(collectives::ByteRange range, double scale, std::byte* out) const {
    layout_.for_each_piece(range, [&](const Piece& piece) {
        const DType dtype = part_.layout().segments()[piece.segment].dtype;
        const std::vector<kernels::Source>& sources = sources_[piece.segment];
        std::byte* to = out + (piece.offset - range.begin);
        if (dtype == DType::f32)
            kernels::weighted_sum(DType::f32, sources, scale, to, piece.count, piece.first);
        else
            add_residual(dtype, part_.sources(piece.segment), piece.first, piece.count,
                         sources.back().data, scale, to);
    });
    layout_.zero_padding(range, out);
}

}  // namespace pace::sparse
