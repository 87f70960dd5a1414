#include "daemon/collectives/piecewise.h"

#include <algorithm>

#include "daemon/collectives/messages/slots.h"

namespace pace::collectives {

using base::Result;
using base::Task;

namespace {

// A range of an addend, as an addend of its own.
class PartWithin final : public Addend {
  public:
    PartWithin(const Addend& whole, ByteRange range)
        : whole_(whole), begin_(range.begin), layout_(whole.layout().within(range)) {}

    const Layout& layout() const override { return layout_; }
    void sum(ByteRange range, double scale, std::byte* out) const override {
        whole_.sum(shifted(range), scale, out);
    }
    std::span<const std::byte> direct(ByteRange range) const override {
        return whole_.direct(shifted(range));
    }

  private:
    ByteRange shifted(ByteRange range) const { return {range.begin + begin_, range.end + begin_}; }

    const Addend& whole_;
    size_t begin_;
    Layout layout_;
};

}  // namespace

std::vector<ByteRange> pieces_of(size_t bytes, size_t piece_bytes, protocol::Order order) {
    const size_t count = std::max<size_t>(1, (bytes + piece_bytes - 1) / piece_bytes);
    std::vector<ByteRange> pieces;
    for (size_t i = 0; i < count; ++i) pieces.push_back(block_of({0, bytes}, count, i));
    if (order == protocol::Order::backward) std::reverse(pieces.begin(), pieces.end());
    return pieces;
}

Task<Result<>> all_reduce_piecewise(Communicator& communicator, const Addend& part, double scale,
                                    std::span<std::byte> result, AllReduceOptions options,
                                    size_t piece_bytes, Progress& progress) {
    const std::vector<ByteRange> pieces = pieces_of(result.size(), piece_bytes, progress.order());
    const size_t indices_each = (kSlotIndexMax + 1) / pieces.size();
    for (size_t i = 0; i < pieces.size(); ++i) {
        while (!progress.covers(pieces[i]) && !communicator.aborted()) co_await progress.changed();
        if (communicator.aborted()) co_return communicator.status();
        const PartWithin piece(part, pieces[i]);
        options.first_index = i * indices_each;
        const Result<> reduced = co_await all_reduce(
            communicator, piece, scale, result.subspan(pieces[i].begin, pieces[i].size()), options);
        if (!reduced) co_return reduced;
    }
    co_return Result<>();
}

}  // namespace pace::collectives
