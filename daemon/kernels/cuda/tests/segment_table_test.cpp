// SegmentTable: each block works on one segment, and all blocks together on all segments.
#include "daemon/kernels/cuda/segment_table.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace pace::kernels::cuda {
namespace {

struct Expected {
    uint32_t count;
    bool whole_packs;
    uint32_t blocks;
};

uint64_t address(size_t segment, uint32_t column) {
    return 0x7000'0000'0000 + segment * 1000 + column;
}

// Segments of 1 to 9 blocks until the table is full.
std::vector<Expected> fill(SegmentTable& table) {
    std::vector<Expected> all;
    while (!table.is_full()) {
        const size_t s = all.size();
        all.push_back(
            {static_cast<uint32_t>(s * 12345 + 1), s % 3 != 0, static_cast<uint32_t>(s % 9 + 1)});
        table.add(all[s].count, all[s].whole_packs, all[s].blocks,
                  [&](uint32_t column) { return address(s, column); });
    }
    return all;
}

TEST(SegmentTable, EachBlockFindsItsSegment) {
    for (const uint32_t columns : {1U, 2U, 8U, 33U, 64U}) {
        SegmentTable table(columns);
        EXPECT_TRUE(table.is_empty());
        const auto all = fill(table);
        EXPECT_FALSE(table.is_empty());
        uint32_t block = 0;
        for (size_t s = 0; s < all.size(); ++s)
            for (uint32_t own = 0; own < all[s].blocks; ++own, ++block) {
                const SegmentTable::Row row = table.row_of(block);
                ASSERT_EQ(row.count, all[s].count) << block;
                ASSERT_EQ(row.whole_packs, all[s].whole_packs) << block;
                ASSERT_EQ(row.block, own) << block;
                for (uint32_t column = 0; column < columns; ++column)
                    ASSERT_EQ(row.buffers[column], address(s, column)) << block;
            }
        EXPECT_EQ(table.blocks(), block);
    }
}

TEST(SegmentTable, HasRoomForManySegmentsOfFewBuffers) {
    SegmentTable pairs(2);
    EXPECT_EQ(fill(pairs).size(), 149U);
    SegmentTable most(64);  // 32 inputs and 32 outputs
    EXPECT_EQ(fill(most).size(), 6U);
}

TEST(SegmentTable, KeepsTheGreatestLength) {
    SegmentTable table(1);
    table.add(SegmentTable::kCountMax - 1, false, 7, [](uint32_t) { return uint64_t{1} << 63U; });
    const SegmentTable::Row row = table.row_of(6);
    EXPECT_EQ(row.count, SegmentTable::kCountMax - 1);
    EXPECT_FALSE(row.whole_packs);
    EXPECT_EQ(row.block, 6U);
    EXPECT_EQ(row.buffers[0], uint64_t{1} << 63U);
}

}  // namespace
}  // namespace pace::kernels::cuda
