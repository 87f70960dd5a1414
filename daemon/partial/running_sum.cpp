#include "daemon/partial/running_sum.h"

#include <utility>
#include <vector>

#include "daemon/partial/accumulate.h"

namespace pace::partial {

using collectives::ByteRange;
using collectives::Layout;
using collectives::Piece;
using collectives::Segment;

namespace {

Layout widened(const Layout& layout) {
    std::vector<Segment> segments = layout.segments();
    for (Segment& segment : segments) segment.dtype = accumulator_of(segment.dtype);
    return Layout(std::move(segments));
}

}  // namespace

base::Result<RunningSum> RunningSum::begin(const Layout& layout) {
    RunningSum made;
    made.layout_ = layout;
    made.wide_ = widened(layout);
    PACE_TRY_ASSIGN(sum, base::Block::make(made.wide_.bytes(), "what a late worker misses"));
    made.sum_ = std::move(sum);
    return made;
}

// Returns the place in the sum where this piece of a result begins.
std::byte* RunningSum::element(const Piece& piece) const {
    const size_t width = protocol::size_of(wide_.segments()[piece.segment].dtype);
    return sum_.data() + wide_.offset(piece.segment) + piece.first * width;
}

void RunningSum::put(ByteRange range, const std::byte* result, bool is_first) {
    layout_.for_each_piece(range, [&](const Piece& piece) {
        accumulate(piece.dtype, element(piece), result + piece.offset, piece.count, is_first);
    });
}

void RunningSum::write(ByteRange range, std::span<std::byte* const> segments) const {
    layout_.for_each_piece(range, [&](const Piece& piece) {
        round_to(piece.dtype, element(piece),
                 segments[piece.segment] + piece.first * protocol::size_of(piece.dtype),
                 piece.count);
    });
}

}  // namespace pace::partial
