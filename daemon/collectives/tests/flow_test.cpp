// Flow tests: all_reduce of parts that arrive piece by piece, with results reported chunk by chunk.
#include "daemon/collectives/layout/flow.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/layout/blocks.h"
#include "daemon/collectives/tests/test_flow.h"
#include "daemon/collectives/tests/test_zones.h"

namespace pace::collectives {
namespace {

using base::ErrorKind;
using protocol::DType;

// An exchange with several types, padding, and up to three members on each node.
ZonedExchange anything(Places zones, base::Random& random) {
    return random_zoned({{DType::f32, 577},
                         {DType::f64, 65},
                         {DType::f32, 0},
                         {DType::bf16, 129 + random.below(200)},
                         {DType::f16, 1}},
                        std::move(zones), random);
}

// An exchange with `chunks` chunks of equal size in each block. Messages above 4096 bytes use a
// rendezvous.
ZonedExchange blocks_of_chunks(size_t nodes, size_t chunks, size_t chunk_bytes) {
    base::Random random(nodes);
    return random_zoned({{DType::f32, nodes * chunks * chunk_bytes / 4}}, Places(nodes, 0), random);
}
constexpr size_t kRendezvousBytes = 8192;

// The strips that have still to arrive at one node.
struct Coming {
    size_t node;
    std::vector<ByteRange> strips;
};

// The strips come in the order in which the sum needs them, in the opposite order, or in a random
// one.
Coming coming_to(Arrivals& all, size_t node, base::Random& random) {
    Coming coming{node, all.part(node).strips()};
    std::vector<ByteRange>& strips = coming.strips;
    const uint64_t order = random.below(3);
    if (order == 0) std::reverse(strips.begin(), strips.end());
    if (order == 1)
        for (size_t i = strips.size(); i > 1; --i)
            std::swap(strips[i - 1], strips[random.below(i)]);
    return coming;
}

// Some of the nodes have a flow; their part arrives strip by strip while messages are in flight.
// Either the whole part arrives, or enough of it that some strips are late.
void start_and_arrive(Arrivals& all, base::Random& random, bool is_whole = true) {
    std::vector<Coming> coming;
    size_t strips = 0;
    for (size_t node = 0; node < all.size(); ++node) {
        const bool has_flow = node == 0 || random.below(4) > 0;
        if (!has_flow) all.part(node).arrive(all.part(node).whole());
        all.start(node, has_flow);
        if (has_flow) coming.push_back(coming_to(all, node, random));
        strips += all.part(node).strips().size();
    }
    for (size_t left = is_whole ? strips : random.below(strips); left > 0; --left) {
        const size_t which = random.below(coming.size());
        Coming& next = coming[which];
        all.part(next.node).arrive(next.strips.back());
        next.strips.pop_back();
        if (next.strips.empty()) coming.erase(coming.begin() + static_cast<ptrdiff_t>(which));
        for (size_t steps = random.below(4); steps > 0; --steps) all.cluster.network().progress();
    }
}

void expect_reference_however(const ZonedExchange& exchange, const AllReduceOptions& options,
                              base::Random& random) {
    const bool is_seeded = random.below(2) == 0;
    Arrivals all(exchange, options,
                 is_seeded ? std::optional<uint64_t>(random.below(1000)) : std::nullopt);
    start_and_arrive(all, random);
    all.cluster.run_well();
    for (size_t node = 0; node < all.size(); ++node) {
        ArrivingPart& part = all.part(node);
        ASSERT_TRUE(part.is_expected()) << "node " << node;
        const bool has_flow = !part.strips().empty();
        ASSERT_EQ(part.cuts_told(), has_flow ? part.whole().size() / kCutBytes : 0);
    }
}

class FlowAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Nodes, FlowAmong, testing::Range(size_t{2}, size_t{7}));

TEST_P(FlowAmong, EqualsTheReferenceWhateverArrivesWhen) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        base::Random random(seed);
        ZonedExchange exchange = anything(Places(GetParam(), 0), random);
        if (seed % 3 == 0)
            for (size_t i = 0; i < GetParam(); ++i)
                exchange.contributes.push_back(random.below(2) == 0);
        expect_reference_however(exchange, any_cut(random), random);
    }
}

TEST_P(FlowAmong, EqualsTheReferenceWhereAllIsAwaited) {
    AllReduceOptions little;
    little.small_bytes_max = SIZE_MAX;
    for (uint64_t seed = 0; seed < 4; ++seed) {
        base::Random random(seed);
        expect_reference_however(anything(Places(GetParam(), 0), random), little, random);
        for (const Places& zones : divisions(GetParam(), random))
            expect_reference_however(anything(zones, random), any_cut(random), random);
    }
}

TEST_P(FlowAmong, LargeChunksThatArriveInAnyOrderLockNothingUp) {
    for (uint64_t seed = 0; seed < 15; ++seed) {
        SCOPED_TRACE(seed);
        base::Random random(seed);
        const ZonedExchange exchange =
            blocks_of_chunks(GetParam(), 1 + random.below(9), kRendezvousBytes);
        const size_t window = 1 + random.below(3);
        expect_reference_however(exchange, cut(kRendezvousBytes, window, 1 + random.below(2)),
                                 random);
    }
}

TEST_P(FlowAmong, EachStripIsSummedEverywhereBeforeTheNextArrives) {
    constexpr size_t kStrips = 5;
    const size_t nodes = GetParam();
    Arrivals all(blocks_of_chunks(nodes, kStrips, 128), cut(128));
    all.start_all();
    for (size_t strip = 0; strip < kStrips; ++strip) {
        all.cluster.run();
        for (size_t node = 0; node < nodes; ++node) {
            ASSERT_FALSE(all.cluster.ended(node));
            const Communicator::Counters& counters = all.cluster.communicator(node).counters();
            ASSERT_EQ(counters.messages_received, strip * 2 * (nodes - 1));
            ASSERT_EQ(all.part(node).cuts_told(), strip * nodes * 2);
            for (size_t block = 0; block < nodes; ++block)
                all.part(node).arrive(all.part(node).strips()[strip * nodes + block]);
        }
    }
    all.cluster.run_well();
    all.expect_told();
}

TEST(Flow, FinishedChunksLeaveWhileAPartialIsMissing) {
    Arrivals all(blocks_of_chunks(3, 4, kRendezvousBytes), cut(kRendezvousBytes, 4, 1));
    const Blocks blocks(all.part(0).whole().size(), 3, kRendezvousBytes);
    all.start_all();
    for (size_t node = 1; node < 3; ++node) all.part(node).arrive(all.part(node).whole());
    for (size_t block = 0; block < 3; ++block) all.part(0).arrive(blocks.chunk(block, 0));
    for (size_t chunk = 1; chunk < 4; ++chunk) all.part(0).arrive(blocks.chunk(0, chunk));
    all.cluster.run();
    for (size_t node = 0; node < 3; ++node)
        for (size_t chunk = 0; chunk < 4; ++chunk) {
            EXPECT_TRUE(all.part(node).is_told(blocks.chunk(0, chunk)));
            EXPECT_EQ(all.part(node).is_told(blocks.chunk(1, chunk)), chunk == 0);
        }
    all.part(0).arrive(all.part(0).whole());
    all.cluster.run_well();
    all.expect_told();
}

TEST(Flow, AFinishedChunkDoesNotHoldUpThePartialThatItsReceiverNeeds) {
    // The node's own sum is ready first. But the others receive it only when they have begun their
    // results.
    Arrivals all(blocks_of_chunks(3, 2, kRendezvousBytes), cut(kRendezvousBytes, 2, 1));
    const Blocks blocks(all.part(0).whole().size(), 3, kRendezvousBytes);
    all.start_all();
    for (size_t node = 1; node < 3; ++node) all.part(node).arrive(all.part(node).whole());
    all.part(0).arrive(blocks.chunk(0, 0));
    all.part(0).arrive(blocks.chunk(1, 0));
    all.cluster.run();
    EXPECT_TRUE(all.part(0).is_told(blocks.chunk(0, 0)));
    EXPECT_FALSE(all.cluster.communicator(2).result_begun());
    all.part(0).arrive(all.part(0).whole());
    all.cluster.run_well();
    all.expect_told();
}

// The lane of a late chunk waits while the other lanes run ahead. The chunks of the other lanes
// must not keep the late chunk from leaving.
TEST(Flow, AChunkThatIsLateLeavesBeforeThoseThatThePeersAskForAfterIt) {
    Arrivals all(blocks_of_chunks(2, 12, kRendezvousBytes), cut(kRendezvousBytes, 2, 1));
    all.start(0);
    all.options.sends_max = 12;  // all partials of node 1 can be in flight
    all.start(1);
    all.part(1).arrive(all.part(1).whole());
    const std::vector<ByteRange>& strips = all.part(0).strips();  // of both blocks in turn
    for (size_t i = 0; i < strips.size(); ++i)
        if (i != 2) all.part(0).arrive(strips[i]);
    all.cluster.run();
    EXPECT_TRUE(all.part(0).is_told(strips[20]));
    EXPECT_TRUE(all.part(1).is_told(strips[0]));
    EXPECT_FALSE(all.part(1).is_told(strips[4]));
    all.part(0).arrive(strips[2]);
    all.cluster.run_well();
    all.expect_told();
}

TEST(Flow, WhatNeedsAllAtOnceBeginsWhenAllIsThere) {
    AllReduceOptions little;
    little.small_bytes_max = SIZE_MAX;
    base::Random random(3);
    const std::vector<std::pair<Places, AllReduceOptions>> cases = {
        {{0}, cut(64)}, {{0, 0, 0}, little}, {{1, 1, 2, 2}, cut(64)}};
    for (const auto& [zones, options] : cases) {
        SCOPED_TRACE(text_of(zones));
        Arrivals all(anything(zones, random), options);
        all.start_all();
        const ByteRange whole = all.part(0).whole();
        for (const auto& part : all.parts) {
            EXPECT_EQ(part->strips(), std::vector<ByteRange>{whole});
            part->arrive({0, whole.end - kCutBytes});
        }
        all.cluster.run();
        for (size_t node = 0; node < all.size(); ++node) {
            EXPECT_FALSE(all.cluster.ended(node));
            EXPECT_EQ(all.cluster.communicator(node).counters().bytes_sent, 0U);
            EXPECT_EQ(all.part(node).cuts_told(), 0U);
        }
        all.arrive_all();
        all.cluster.run_well();
        all.expect_told();
    }
}

TEST(Flow, ANodeThatDoesNotContributeWaitsForNothing) {
    ZonedExchange exchange = blocks_of_chunks(3, 4, 64);
    exchange.contributes = {true, false, true};
    Arrivals all(exchange, cut(64));
    all.start_all();
    for (const size_t node : {0U, 2U}) all.part(node).arrive(all.part(node).whole());
    all.cluster.run_well();
    all.expect_told();
}

TEST(Flow, AnEmptyVectorAsksForNothing) {
    base::Random random(4);
    Arrivals all(random_zoned({{DType::f32, 0}}, {0, 0}, random), AllReduceOptions());
    all.start_all();
    all.cluster.run_well();
    EXPECT_TRUE(all.part(0).strips().empty());
}

// Uses any of the algorithms, with short messages or long ones.
std::unique_ptr<Arrivals> any_way(size_t nodes, base::Random& random) {
    const Places zones = divisions(nodes, random)[random.below(7)];
    AllReduceOptions options = any_cut(random);
    if (random.below(4) == 0) options.small_bytes_max = SIZE_MAX;
    if (random.below(2) == 0) return std::make_unique<Arrivals>(anything(zones, random), options);
    ZonedExchange exchange = blocks_of_chunks(nodes, 6, kRendezvousBytes);
    if (random.below(2) == 0) exchange.zones = zones;
    options.chunk_bytes_min = options.chunk_bytes_max = kRendezvousBytes;
    return std::make_unique<Arrivals>(exchange, options);
}

TEST_P(FlowAmong, EndsWhenItIsAbortedWhileItWaits) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
        SCOPED_TRACE(seed);
        base::Random random(seed);
        const std::unique_ptr<Arrivals> all = any_way(GetParam(), random);
        start_and_arrive(*all, random, seed % 4 == 0);
        if (seed % 4 == 1) all->cluster.run();
        for (size_t i = 0; i < all->size(); ++i)
            all->cluster.communicator(i).abort({ErrorKind::aborted, "enough"});
        all->expect_all_end(ErrorKind::aborted, all->size());
    }
}

TEST_P(FlowAmong, EndsWhenAPeerIsLostWhileItWaits) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
        SCOPED_TRACE(seed);
        base::Random random(seed);
        const std::unique_ptr<Arrivals> all = any_way(GetParam(), random);
        start_and_arrive(*all, random, seed % 4 == 0);
        if (seed % 4 == 1) all->cluster.run();
        const size_t dead = random.below(GetParam());
        all->cluster.network().kill(all->cluster.transport(dead));
        all->cluster.run();
        all->expect_all_end(ErrorKind::unavailable, dead);
    }
}

}  // namespace
}  // namespace pace::collectives
