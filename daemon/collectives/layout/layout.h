// Layout: the positions of one exchange's buffers ("segments") in one logical byte vector, so that
// the exchange moves and cuts bytes without knowing tensors.
//
//     | segment 0 ......... pad | segment 1 ... pad | segment 2 ............ pad |
//     0                         64·k                64·m                         bytes()
//
// Each segment starts at a multiple of 64 bytes, and so does every cut: a piece always consists of
// whole elements and starts on a cache line. Written padding is always zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "protocol/types.h"

namespace pace::collectives {

inline constexpr size_t kCutBytes = 64;

// Bytes [begin, end) of the logical vector.
struct ByteRange {
    size_t begin = 0;
    size_t end = 0;
    size_t size() const { return end - begin; }
    bool empty() const { return begin == end; }
    bool operator==(const ByteRange&) const = default;
};

struct Segment {
    protocol::DType dtype = protocol::DType::f32;
    size_t count = 0;  // elements; 0 is allowed
    bool operator==(const Segment&) const = default;
};

// The section of one segment that lies in a range.
struct Piece {
    size_t segment = 0;
    protocol::DType dtype = protocol::DType::f32;
    size_t first = 0;  // first element, counted within the segment
    size_t count = 0;  // elements, at least 1
    // Offset of the first element in the logical vector.
    size_t offset = 0;
    size_t bytes() const { return count * protocol::size_of(dtype); }
};

class Layout {
  public:
    Layout() = default;
    // The segments' types must be valid and their sizes must not overflow. The caller checks
    // untrusted values.
    explicit Layout(std::vector<Segment> segments);

    const std::vector<Segment>& segments() const { return segments_; }
    size_t offset(size_t segment) const { return offsets_[segment]; }
    // Size of the logical vector, a multiple of kCutBytes.
    size_t bytes() const { return offsets_.back(); }
    // Bytes of elements alone.
    size_t payload_bytes() const;
    // Layouts are equal if they have equal types and counts, in the same order. Memory of one
    // layout can then be used as the other's.
    bool operator==(const Layout& other) const { return segments_ == other.segments_; }

    // Calls visit(Piece) for every non-empty piece in `range`, in order. Both ends of `range` must
    // be multiples of kCutBytes.
    template <typename Visit>
    void for_each_piece(ByteRange range, Visit&& visit) const {
        auto next = std::upper_bound(offsets_.begin(), offsets_.end(), range.begin);
        for (size_t i = static_cast<size_t>(next - offsets_.begin()) - 1; i < segments_.size();
             ++i) {
            if (offsets_[i] >= range.end) return;
            const Piece piece = piece_of(i, range);
            if (piece.count > 0) visit(piece);
        }
    }

    // Returns the layout of the section of the vector in `range`. The ends of `range` must be
    // multiples of kCutBytes. The layout's bytes are those of the range, in the same order.
    Layout within(ByteRange range) const;

    // Number of elements of all segments before `offset`, a multiple of kCutBytes.
    uint64_t elements_before(size_t offset) const;

    // Zeroes the padding in `range`; `bytes` holds the range's bytes.
    void zero_padding(ByteRange range, std::byte* bytes) const;

  private:
    Piece piece_of(size_t segment, ByteRange range) const;

    std::vector<Segment> segments_;
    std::vector<size_t> offsets_{0};  // one per segment, then the total
};

// Cuts `range` into `blocks` blocks whose sizes differ by at most kCutBytes, and returns block
// `index`. Some blocks may be empty.
ByteRange block_of(ByteRange range, size_t blocks, size_t index);

// Number of chunks of `chunk_bytes` (a multiple of kCutBytes) in `range`, and the chunk `index`.
size_t chunk_count(ByteRange range, size_t chunk_bytes);
ByteRange chunk_of(ByteRange range, size_t chunk_bytes, size_t index);

}  // namespace pace::collectives
