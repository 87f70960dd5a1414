#include "daemon/collectives/layout/layout.h"

#include <utility>

namespace pace::collectives {

namespace {

size_t round_up(size_t bytes) {
    return (bytes + kCutBytes - 1) / kCutBytes * kCutBytes;
}

}  // namespace

Layout::Layout(std::vector<Segment> segments) : segments_(std::move(segments)) {
    offsets_.clear();
    offsets_.reserve(segments_.size() + 1);
    size_t offset = 0;
    for (const Segment& segment : segments_) {
        offsets_.push_back(offset);
        offset += round_up(segment.count * protocol::size_of(segment.dtype));
    }
    offsets_.push_back(offset);
}

size_t Layout::payload_bytes() const {
    size_t bytes = 0;
    for (const Segment& segment : segments_)
        bytes += segment.count * protocol::size_of(segment.dtype);
    return bytes;
}

Piece Layout::piece_of(size_t segment, ByteRange range) const {
    const Segment& whole = segments_[segment];
    const size_t size = protocol::size_of(whole.dtype);
    const size_t start = offsets_[segment];
    const size_t begin = std::max(range.begin, start);
    const size_t end = std::min(range.end, start + whole.count * size);
    if (begin >= end) return {};
    return {segment, whole.dtype, (begin - start) / size, (end - begin) / size, begin};
}

Layout Layout::within(ByteRange range) const {
    std::vector<Segment> segments;
    for_each_piece(range, [&](const Piece& piece) {
        segments.push_back({piece.dtype, piece.count});
    });
    return Layout(std::move(segments));
}

uint64_t Layout::elements_before(size_t offset) const {
    uint64_t elements = 0;
    for_each_piece({0, offset}, [&](const Piece& piece) { elements += piece.count; });
    return elements;
}

void Layout::zero_padding(ByteRange range, std::byte* bytes) const {
    size_t written = range.begin;
    const auto zero_until = [&](size_t end) {
        if (end > written) std::memset(bytes + (written - range.begin), 0, end - written);
    };
    for_each_piece(range, [&](const Piece& piece) {
        zero_until(piece.offset);
        written = piece.offset + piece.bytes();
    });
    zero_until(range.end);
}

ByteRange block_of(ByteRange range, size_t blocks, size_t index) {
    // Blocks are whole cut units. The first `extra` blocks are one unit longer. A range's last unit
    // may be short.
    const size_t units = (range.size() + kCutBytes - 1) / kCutBytes;
    const size_t each = units / blocks;
    const size_t extra = units % blocks;
    const auto begin_of = [&](size_t block) {
        const size_t bytes = (block * each + std::min(block, extra)) * kCutBytes;
        return range.begin + std::min(bytes, range.size());
    };
    return {begin_of(index), begin_of(index + 1)};
}

size_t chunk_count(ByteRange range, size_t chunk_bytes) {
    return (range.size() + chunk_bytes - 1) / chunk_bytes;
}

ByteRange chunk_of(ByteRange range, size_t chunk_bytes, size_t index) {
    const size_t begin = std::min(range.end, range.begin + index * chunk_bytes);
    return {begin, std::min(range.end, begin + chunk_bytes)};
}

}  // namespace pace::collectives
