#include "daemon/collectives/piecewise.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "daemon/collectives/tests/test_cluster.h"
#include "daemon/collectives/tests/test_data.h"
#include "daemon/collectives/tests/test_zones.h"

namespace pace::collectives {
namespace {

using protocol::DType;
using protocol::Order;

constexpr size_t kPieceBytes = 512;

AllReduceOptions small_chunks() {
    AllReduceOptions options;
    options.small_bytes_max = 128;
    options.chunk_bytes_min = 64;
    options.chunk_bytes_max = 64;
    options.window = 2;
    return options;
}

Layout several_segments() {
    return Layout({{DType::f32, 300},
                   {DType::f64, 1},
                   {DType::bf16, 411},
                   {DType::f32, 0},
                   {DType::f16, 77}});
}

uint64_t elements_of(const Layout& layout) {
    return layout.elements_before(layout.bytes());
}

// The only worker of a node. It makes its buffers piece by piece. Unmade elements hold noise.
class Making {
  public:
    Making(const Layout& layout, Order order, base::Random& random)
        : made_(random_worker(layout, 1.0, random)),
          buffers_(random_worker(layout, 1.0, random)),
          layout_(layout),
          part_(layout, {member_of(buffers_)}),
          progress_(std::make_shared<Progress>(order, layout, 0)) {}

    // Makes the first, or last, `elements`.
    void make(uint64_t elements) {
        const uint64_t all = elements_of(layout_);
        const bool backward = progress_->order() == Order::backward;
        uint64_t number = 0;
        for (size_t s = 0; s < layout_.segments().size(); ++s) {
            const Segment& segment = layout_.segments()[s];
            const size_t size = protocol::size_of(segment.dtype);
            for (size_t i = 0; i < segment.count; ++i, ++number) {
                const bool is_made = backward ? number >= all - elements : number < elements;
                if (is_made)
                    std::copy_n(made_.segments[s].data() + i * size, size,
                                buffers_.segments[s].data() + i * size);
            }
        }
        progress_->advance(elements);
    }

    const Worker& whole() const { return made_; }
    const LocalPart& part() const { return part_; }
    Progress& progress() { return *progress_; }

  private:
    static Member member_of(const Worker& worker) {
        Member member;
        for (const Bytes& segment : worker.segments) member.segments.push_back(segment.data());
        return member;
    }

    Worker made_;
    Worker buffers_;
    Layout layout_;
    LocalPart part_;
    std::shared_ptr<Progress> progress_;
};

struct Makers {
    Makers(size_t nodes, const Layout& layout, Order order, base::Random& random,
           const Places& zones = {})
        : results(nodes, Bytes(layout.bytes(), std::byte{0xAB})),
          cluster(nodes, std::nullopt, {}, zones) {
        for (size_t i = 0; i < nodes; ++i)
            makers.push_back(std::make_unique<Making>(layout, order, random));
    }

    void start(const AllReduceOptions& options = small_chunks()) {
        for (size_t i = 0; i < makers.size(); ++i)
            cluster.start(
                i, all_reduce_piecewise(cluster.communicator(i), makers[i]->part(), 0.5, results[i],
                                        options, kPieceBytes, makers[i]->progress()));
    }

    // All nodes' buffers grow at random until everything is made.
    void make_all(uint64_t elements, base::Random& random) {
        std::vector<uint64_t> made(makers.size(), 0);
        while (std::any_of(made.begin(), made.end(), [&](uint64_t m) { return m < elements; })) {
            const size_t node = random.below(makers.size());
            made[node] = std::min(elements, made[node] + 1 + random.below(200));
            makers[node]->make(made[node]);
            if (random.below(2) == 0) cluster.run();
        }
        cluster.run_well();
    }

    std::vector<std::vector<Worker>> workers() const {
        std::vector<std::vector<Worker>> all;
        for (const auto& maker : makers) all.push_back({maker->whole()});
        return all;
    }

    std::vector<std::unique_ptr<Making>> makers;
    std::vector<Bytes> results;
    TestCluster cluster;
};

TEST(Pieces, CoverTheVectorInTheOrderOfMaking) {
    for (const size_t bytes : {0UL, 64UL, 512UL, 576UL, 4096UL, 100'032UL}) {
        std::vector<ByteRange> pieces = pieces_of(bytes, kPieceBytes, Order::backward);
        std::vector<ByteRange> forward = pieces_of(bytes, kPieceBytes, Order::forward);
        std::reverse(pieces.begin(), pieces.end());
        EXPECT_EQ(pieces, forward);
        size_t end = 0;
        for (const ByteRange& piece : pieces) {
            EXPECT_EQ(piece.begin, end);
            EXPECT_EQ(piece.begin % kCutBytes, 0U);
            EXPECT_LE(piece.size(), kPieceBytes);
            end = piece.end;
        }
        EXPECT_EQ(end, bytes);
    }
}

TEST(ProgressTest, CoversWhatIsMadeFromItsEnd) {
    const Layout layout({{DType::f32, 32}, {DType::f64, 8}});  // 128 bytes and 64 bytes
    Progress forward(Order::forward, layout, 16);
    EXPECT_TRUE(forward.covers({0, 64}));
    EXPECT_FALSE(forward.covers({64, 128}));
    Progress backward(Order::backward, layout, 7);
    EXPECT_FALSE(backward.covers({128, 192}));
    backward.advance(8);
    EXPECT_TRUE(backward.covers({128, 192}));
    EXPECT_FALSE(backward.covers({64, 192}));
    backward.advance(24);
    EXPECT_TRUE(backward.covers({64, 192}));
    backward.advance(3);
    EXPECT_TRUE(backward.covers({64, 192}));
    EXPECT_FALSE(backward.is_complete());
    backward.advance(40);
    EXPECT_TRUE(backward.is_complete());
}

class PiecewiseAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Nodes, PiecewiseAmong, testing::Values(1, 2, 3, 4, 5, 7));

// Each node makes its buffers at its own pace. The result always equals that of all_reduce.
TEST_P(PiecewiseAmong, EqualsTheReferenceWhateverIsMadeWhen) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
        SCOPED_TRACE(seed);
        base::Random random(seed);
        const Order order = seed % 2 == 0 ? Order::backward : Order::forward;
        const Layout layout = several_segments();
        Makers all(GetParam(), layout, order, random);
        all.start();
        all.make_all(elements_of(layout), random);
        const Bytes expected = reference_all_reduce(layout, all.workers(), 0.5);
        for (const Bytes& result : all.results) ASSERT_TRUE(result == expected);
    }
}

TEST(Piecewise, AmongZonesEqualsTheirReference) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
        SCOPED_TRACE(seed);
        base::Random random(seed);
        const Places zones{1, 1, 2, 2, 2};
        const Layout layout = several_segments();
        Makers all(zones.size(), layout, Order::backward, random, zones);
        all.start(cut(64, 2));
        all.make_all(elements_of(layout), random);
        const Bytes expected = zoned_reference({layout, all.workers(), zones, 0.5});
        for (const Bytes& result : all.results) ASSERT_TRUE(result == expected);
    }
}

TEST(Piecewise, WhatIsMadeTravelsBeforeTheRest) {
    base::Random random(1);
    const Layout layout({{DType::f32, 1024}});
    Makers all(2, layout, Order::backward, random);
    all.start();
    all.cluster.run();
    EXPECT_EQ(all.cluster.communicator(0).counters().bytes_sent, 0U);
    // Both nodes make the last of the eight pieces; one node makes the piece before it.
    all.makers[0]->make(256);
    all.makers[1]->make(128);
    all.cluster.run();
    const ByteRange last = pieces_of(layout.bytes(), kPieceBytes, Order::backward).front();
    const Bytes expected =
        reference_all_reduce(layout, {{all.makers[0]->whole()}, {all.makers[1]->whole()}}, 0.5);
    const Bytes untouched(layout.bytes(), std::byte{0xAB});
    for (const Bytes& result : all.results) {
        EXPECT_TRUE(std::equal(result.begin() + static_cast<ptrdiff_t>(last.begin), result.end(),
                               expected.begin() + static_cast<ptrdiff_t>(last.begin)));
        EXPECT_TRUE(std::equal(result.begin(), result.begin() + static_cast<ptrdiff_t>(last.begin),
                               untouched.begin()));
    }
    for (const auto& maker : all.makers) maker->make(1024);
    all.cluster.run_well();
    for (const Bytes& result : all.results) EXPECT_TRUE(result == expected);
}

TEST(Piecewise, EndsWhenItIsAbortedWhileItWaits) {
    base::Random random(2);
    const Layout layout({{DType::f32, 1024}});
    Makers all(2, layout, Order::forward, random);
    all.start();
    all.makers[0]->make(512);
    all.cluster.run();
    for (size_t i = 0; i < 2; ++i) {
        all.cluster.communicator(i).abort({base::ErrorKind::aborted, "enough"});
        all.makers[i]->progress().wake();
    }
    all.cluster.run();
    for (size_t i = 0; i < 2; ++i) {
        ASSERT_TRUE(all.cluster.ended(i));
        EXPECT_EQ(all.cluster.outcome(i).error().message, "enough");
    }
}

}  // namespace
}  // namespace pace::collectives
