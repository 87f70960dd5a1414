// SegmentTable: the buffers of many short segments as one value, which a kernel gets as a
// parameter, and which block of the kernel works on which segment.
//
// A segment has `columns` buffers of one length. Each segment gets as many blocks as its length
// needs.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define PACE_ON_BOTH __host__ __device__
#else
#define PACE_ON_BOTH
#endif

namespace pace::kernels::cuda {

class SegmentTable {
  public:
    // All parameters of a kernel have 4 KiB of room on every device.
    static constexpr uint32_t kWords = 448;
    // A segment's length is below this.
    static constexpr uint32_t kCountMax = uint32_t{1} << 31U;

    struct Row {
        uint32_t count;           // elements of each buffer
        bool whole_packs;         // the buffers begin where a pack begins
        uint32_t block;           // of this segment's blocks
        const uint64_t* buffers;  // addresses, one a column
    };

    explicit SegmentTable(uint32_t columns) : columns_(columns) {}

    // There is room for one segment at least. `block_count` is greater than 0. `address(column)` is
    // called for each column.
    template <typename Address>
    void add(uint32_t count, bool whole_packs, uint32_t block_count, Address address) {
        uint64_t* const row = words_ + uint64_t{segments_++} * (columns_ + 1);
        blocks_ += block_count;
        row[0] = uint64_t{blocks_} << 32U | (whole_packs ? kCountMax : 0U) | count;
        for (uint32_t column = 0; column < columns_; ++column) row[1 + column] = address(column);
    }
    bool is_full() const { return (segments_ + 1) * (columns_ + 1) > kWords; }
    bool is_empty() const { return segments_ == 0; }
    // Of all segments.
    uint32_t blocks() const { return blocks_; }

    // The segment of a block below blocks(), by bisection.
    PACE_ON_BOTH Row row_of(uint32_t block) const {
        uint32_t first = 0;
        uint32_t last = segments_ - 1;
        while (first < last) {
            const uint32_t middle = (first + last) / 2;
            if (blocks_until(middle) > block)
                last = middle;
            else
                first = middle + 1;
        }
        const uint64_t* const row = words_ + uint64_t{first} * (columns_ + 1);
        const uint32_t before = first == 0 ? 0 : blocks_until(first - 1);
        const auto count = static_cast<uint32_t>(row[0]);
        return {count & (kCountMax - 1), (count & kCountMax) != 0, block - before, row + 1};
    }

  private:
    // The blocks of a segment and of all before it.
    PACE_ON_BOTH uint32_t blocks_until(uint32_t segment) const {
        return static_cast<uint32_t>(words_[uint64_t{segment} * (columns_ + 1)] >> 32U);
    }

    uint32_t columns_;
    uint32_t segments_ = 0;
    uint32_t blocks_ = 0;
    uint64_t words_[kWords] = {};
};

}  // namespace pace::kernels::cuda
