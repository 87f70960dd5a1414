#include "daemon/collectives/layout/layout.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::collectives {
namespace {

using protocol::DType;

const Layout kMixed({{DType::f32, 17},
                     {DType::f64, 0},
                     {DType::f16, 33},
                     {DType::bf16, 0},
                     {DType::f64, 8},
                     {DType::f32, 0}});

TEST(Layout, StartsEachSegmentAtACacheLine) {
    EXPECT_EQ(kMixed.offset(0), 0U);
    EXPECT_EQ(kMixed.offset(1), 128U);
    EXPECT_EQ(kMixed.offset(2), 128U);
    EXPECT_EQ(kMixed.offset(3), 256U);
    EXPECT_EQ(kMixed.offset(4), 256U);
    EXPECT_EQ(kMixed.offset(5), 320U);
    EXPECT_EQ(kMixed.bytes(), 320U);
    EXPECT_EQ(kMixed.payload_bytes(), 17U * 4 + 33 * 2 + 64);
    EXPECT_EQ(Layout(std::vector<Segment>()).bytes(), 0U);
    EXPECT_EQ(Layout().bytes(), 0U);
}

TEST(Layout, CutsARangeIntoTheElementsOfItsSegments) {
    std::vector<Piece> pieces;
    kMixed.for_each_piece({64, 320}, [&](const Piece& piece) { pieces.push_back(piece); });
    ASSERT_EQ(pieces.size(), 3U);
    EXPECT_EQ(pieces[0].segment, 0U);
    EXPECT_EQ(pieces[0].first, 16U);
    EXPECT_EQ(pieces[0].count, 1U);
    EXPECT_EQ(pieces[0].offset, 64U);
    EXPECT_EQ(pieces[1].segment, 2U);
    EXPECT_EQ(pieces[1].count, 33U);
    EXPECT_EQ(pieces[2].segment, 4U);
    EXPECT_EQ(pieces[2].bytes(), 64U);
    Layout().for_each_piece({0, 0}, [](const Piece&) { FAIL(); });
    kMixed.for_each_piece({320, 320}, [](const Piece&) { FAIL(); });
}

TEST(Layout, EveryCutCoversEveryElementOnce) {
    base::Random random(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<Segment> segments;
        for (size_t i = random.below(6); i-- > 0;)
            segments.push_back({static_cast<DType>(1 + random.below(4)), random.below(200)});
        const Layout layout(segments);
        std::vector<std::vector<int>> visits;
        visits.reserve(segments.size());
        for (const Segment& segment : segments) visits.emplace_back(segment.count, 0);
        const size_t nodes = 1 + random.below(17);
        const size_t chunk_bytes = kCutBytes * (1 + random.below(4));
        size_t end = 0;
        for (size_t node = 0; node < nodes; ++node) {
            const ByteRange block = block_of({0, layout.bytes()}, nodes, node);
            EXPECT_EQ(block.begin, end);
            end = block.end;
            for (size_t c = 0; c < chunk_count(block, chunk_bytes); ++c)
                layout.for_each_piece(chunk_of(block, chunk_bytes, c), [&](const Piece& piece) {
                    EXPECT_EQ(piece.offset,
                              layout.offset(piece.segment) + piece.first * size_of(piece.dtype));
                    for (size_t i = 0; i < piece.count; ++i)
                        ++visits[piece.segment][piece.first + i];
                });
        }
        EXPECT_EQ(end, layout.bytes());
        for (size_t i = 0; i < segments.size(); ++i)
            EXPECT_EQ(visits[i], std::vector<int>(segments[i].count, 1));
    }
}

TEST(Layout, BlocksDifferByAtMostOneCutAndTheFirstIsTheLongest) {
    for (const size_t bytes : {0U, 64U, 640U, 64000U})
        for (size_t nodes = 1; nodes <= 17; ++nodes) {
            const size_t first = block_of({0, bytes}, nodes, 0).size();
            for (size_t node = 0; node < nodes; ++node) {
                const size_t size = block_of({0, bytes}, nodes, node).size();
                EXPECT_LE(size, first);
                EXPECT_GE(size + kCutBytes, first);
            }
        }
}

TEST(Layout, ZeroesPaddingAndNothingElse) {
    std::vector<std::byte> bytes(kMixed.bytes(), std::byte{0xFF});
    kMixed.zero_padding({64, 320}, bytes.data() + 64);
    std::vector<std::byte> expected(kMixed.bytes(), std::byte{0xFF});
    std::fill(expected.begin() + 68, expected.begin() + 128, std::byte{0});
    std::fill(expected.begin() + 128 + 66, expected.begin() + 256, std::byte{0});
    EXPECT_EQ(bytes, expected);
}

}  // namespace
}  // namespace pace::collectives
