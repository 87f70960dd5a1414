#include "daemon/collectives/half_all_reduce.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "daemon/collectives/layout/halves.h"

namespace pace::collectives {

using base::Result;
using base::Task;
using protocol::DType;

namespace {

constexpr size_t kTileElements = 1024;

Layout in_halves(const Layout& layout, DType half) {
    std::vector<Segment> segments = layout.segments();
    for (Segment& segment : segments)
        if (protocol::size_of(segment.dtype) > 2) segment.dtype = half;
    return Layout(std::move(segments));
}

// The members' weighted sum, rounded to halves.
class HalfPart final : public Addend {
  public:
    HalfPart(const LocalPart& part, DType half)
        : part_(part), half_(half), layout_(in_halves(part.layout(), half)) {}

    const Layout& layout() const override { return layout_; }

    void sum(ByteRange range, double scale, std::byte* out) const override {
        layout_.for_each_piece(range, [&](const Piece& piece) {
            const DType own = part_.layout().segments()[piece.segment].dtype;
            std::byte* to = out + (piece.offset - range.begin);
            if (protocol::size_of(own) == 2)
                kernels::weighted_sum(own, part_.sources(piece.segment), scale, to, piece.count,
                                      piece.first);
            else
                sum_rounded(own, part_.sources(piece.segment), scale, piece.first, piece.count, to);
        });
        layout_.zero_padding(range, out);
    }

  private:
    void sum_rounded(DType own, std::span<const kernels::Source> sources, double scale,
                     size_t first, size_t count, std::byte* out) const {
        alignas(64) std::array<float, kTileElements> single;
        alignas(64) std::array<double, kTileElements> wide;
        for (size_t i = 0; i < count; i += kTileElements) {
            const size_t n = std::min(kTileElements, count - i);
            std::byte* tile = own == DType::f32 ? std::as_writable_bytes(std::span(single)).data()
                                                : std::as_writable_bytes(std::span(wide)).data();
            kernels::weighted_sum(own, sources, scale, tile, n, first + i);
            if (own == DType::f64)
                for (size_t j = 0; j < n; ++j) single[j] = static_cast<float>(wide[j]);
            narrow(half_, std::span(single).first(n), out + i * sizeof(uint16_t));
        }
    }

    const LocalPart& part_;
    DType half_;
    Layout layout_;
};

void widen_tile(DType half, DType own, const std::byte* halves, size_t count, std::byte* out) {
    alignas(64) std::array<float, kTileElements> single;
    widen(half, halves, std::span(single).first(count));
    if (own == DType::f32) {
        std::memcpy(out, single.data(), count * sizeof(float));
        return;
    }
    alignas(64) std::array<double, kTileElements> wide;
    std::copy_n(single.begin(), count, wide.begin());
    std::memcpy(out, wide.data(), count * sizeof(double));
}

// Widens a vector in place. `bytes` holds the vector of `halves` in its front. The function goes
// backwards, since elements only move towards the end. So every overwritten element has been read.
void widen_in_place(const Layout& halves, const Layout& own, std::byte* bytes) {
    for (size_t s = own.segments().size(); s-- > 0;) {
        const DType half = halves.segments()[s].dtype;
        const Segment segment = own.segments()[s];
        const std::byte* from = bytes + halves.offset(s);
        std::byte* to = bytes + own.offset(s);
        if (protocol::size_of(segment.dtype) == 2) {
            std::memmove(to, from, segment.count * sizeof(uint16_t));
            continue;
        }
        for (size_t end = segment.count; end > 0;) {
            const size_t begin = (end - 1) / kTileElements * kTileElements;
            std::array<std::byte, kTileElements * sizeof(uint16_t)> tile;
            std::memcpy(tile.data(), from + begin * sizeof(uint16_t),
                        (end - begin) * sizeof(uint16_t));
            widen_tile(half, segment.dtype, tile.data(), end - begin,
                       to + begin * protocol::size_of(segment.dtype));
            end = begin;
        }
    }
    own.zero_padding({0, own.bytes()}, bytes);
}

}  // namespace

Task<Result<>> half_all_reduce(Communicator& communicator, const LocalPart& part, double scale,
                               std::span<std::byte> result, AllReduceOptions options, DType half,
                               Elsewhere elsewhere) {
    if (half != DType::f16 && half != DType::bf16)
        co_return base::make_error(base::ErrorKind::invalid,
                                   "{} is no half type; let the sum travel as f16 or bf16",
                                   name_of(half));
    const Layout& own = part.layout();
    // all_reduce also reports a wrong size.
    if (communicator.size() == 1 || result.size() != own.bytes())
        co_return co_await all_reduce(communicator, part, scale, result, options);
    const HalfPart halves(part, half);
    if (halves.layout().bytes() == own.bytes() &&
        halves.layout().payload_bytes() == own.payload_bytes())
        co_return co_await all_reduce(communicator, part, scale, result, options);
    Result<> summed = co_await all_reduce(communicator, halves, scale,
                                          result.first(halves.layout().bytes()), options);
    if (!summed) co_return summed;
    const auto widen = [&] { widen_in_place(halves.layout(), own, result.data()); };
    if (elsewhere)
        co_await elsewhere(halves.layout().bytes() + own.bytes(), widen);
    else
        widen();
    co_return summed;
}

}  // namespace pace::collectives
