// Zoned tests: the all-reduce of nodes in several zones against its definition, one element at a
// time.
#include "daemon/collectives/zoned_all_reduce.h"

#include <array>
#include <bit>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "daemon/collectives/half_all_reduce.h"
#include "daemon/collectives/tests/test_zones.h"

namespace pace::collectives {
namespace {

using protocol::DType;

constexpr std::array kTypes = {DType::f32, DType::f64, DType::f16, DType::bf16};

class ZonedAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Nodes, ZonedAmong, testing::Range(size_t{2}, size_t{13}));

TEST_P(ZonedAmong, EqualsTheReferenceBitByBit) {
    base::Random random(GetParam());
    for (const Places& zones : divisions(GetParam(), random))
        for (const DType dtype : kTypes)
            for (const size_t count : {1U, 3U, 65U, 1000U}) {
                SCOPED_TRACE(std::string(name_of(dtype)) + " x " + std::to_string(count));
                expect_reference(random_zoned({{dtype, count}}, zones, random), any_cut(random));
            }
}

TEST_P(ZonedAmong, CutsSegmentsOfSeveralTypes) {
    base::Random random(100 + GetParam());
    for (const Places& zones : divisions(GetParam(), random)) {
        const ZonedExchange exchange = random_zoned({{DType::f16, 0},
                                                     {DType::f32, 777},
                                                     {DType::f64, 65},
                                                     {DType::bf16, 129},
                                                     {DType::f16, 1},
                                                     {DType::f32, 0}},
                                                    zones, random);
        expect_reference(exchange, cut(128));
        AllReduceOptions usual;
        usual.small_bytes_max = 0;
        expect_reference(exchange, usual);
    }
}

TEST_P(ZonedAmong, TheOrderOfDeliveriesDoesNotMatter) {
    base::Random random(200 + GetParam());
    for (const Places& zones : divisions(GetParam(), random)) {
        const ZonedExchange exchange = random_zoned({{DType::f32, 1500}}, zones, random);
        for (uint64_t seed = 1; seed <= 3; ++seed) {
            SCOPED_TRACE(seed);
            expect_reference(exchange, any_cut(random), seed);
        }
    }
}

// The messages stay at their sender until they are received, and the fewest possible are sent at
// once. So any possible deadlock would occur.
TEST_P(ZonedAmong, EndsWithOneOfEverythingAtATime) {
    base::Random random(300 + GetParam());
    for (const Places& zones : divisions(GetParam(), random)) {
        const ZonedExchange exchange =
            random_zoned({{DType::f32, 5000 * GetParam()}}, zones, random);
        for (const size_t window : {1U, 2U, 7U})
            for (const size_t sends_max : {1U, 2U}) {
                SCOPED_TRACE(std::to_string(window) + " lanes, " + std::to_string(sends_max));
                expect_reference(exchange, cut(4160, window, sends_max), window);
            }
    }
}

TEST_P(ZonedAmong, SkipsNodesThatDoNotContribute) {
    base::Random random(400 + GetParam());
    for (const Places& zones : divisions(GetParam(), random))
        for (int round = 0; round < 4; ++round) {
            ZonedExchange exchange =
                random_zoned({{DType::f32, 500}, {DType::f64, 9}}, zones, random);
            for (size_t i = 0; i < GetParam(); ++i)
                exchange.contributes.push_back(round != 3 && random.below(2) == 0);
            expect_reference(exchange, any_cut(random), round);
        }
}

TEST_P(ZonedAmong, AZoneWithoutAContributionSendsNoSums) {
    base::Random random(500 + GetParam());
    const size_t nodes = GetParam();
    for (const Places& zones : divisions(nodes, random)) {
        if (!has_relays(zones)) continue;
        for (const uint32_t silent : zones_in_order(zones)) {
            ZonedExchange exchange = random_zoned({{DType::f32, 16 * nodes * 3}}, zones, random);
            uint64_t members = 0;
            for (const uint32_t zone : zones) {
                exchange.contributes.push_back(zone != silent);
                members += zone == silent ? 1 : 0;
            }
            expect_reference(exchange, cut(64));
            Traffic traffic;
            run_zoned(exchange, cut(64), std::nullopt, &traffic);
            uint64_t left = 0;
            for (size_t i = 0; i < nodes; ++i)
                for (size_t j = 0; j < nodes; ++j)
                    if (zones[i] == silent && zones[j] != silent) left += traffic[i][j];
            const uint64_t others = zones_in_order(zones).size() - 1;
            EXPECT_EQ(left, members * others * exchange.layout.bytes() / nodes);
        }
    }
}

// Each node contributes nothing in one run, so that every relay has nothing of its own to add in
// one run.
TEST_P(ZonedAmong, ARelaySumsForItsZoneThoughItDoesNotContribute) {
    base::Random random(600 + GetParam());
    for (const Places& zones : divisions(GetParam(), random))
        for (size_t silent = 0; silent < GetParam(); ++silent) {
            ZonedExchange exchange = random_zoned({{DType::bf16, 700}}, zones, random);
            exchange.contributes.assign(GetParam(), true);
            exchange.contributes[silent] = false;
            expect_reference(exchange, cut(64), silent);
        }
}

TEST_P(ZonedAmong, BytesBetweenZonesFollowTheFormula) {
    base::Random random(700);
    const size_t nodes = GetParam();
    for (const Places& zones : divisions(nodes, random)) {
        if (!has_relays(zones)) continue;
        SCOPED_TRACE(text_of(zones));
        const ZonedExchange exchange = random_zoned({{DType::f32, 16 * nodes * 4}}, zones, random);
        const uint64_t block = exchange.layout.bytes() / nodes;
        Traffic traffic;
        run_zoned(exchange, cut(64, 3), std::nullopt, &traffic);
        const uint64_t count = zones_in_order(zones).size();
        for (const uint32_t zone : zones_in_order(zones)) {
            const auto members =
                static_cast<uint64_t>(std::count(zones.begin(), zones.end(), zone));
            uint64_t left = 0;
            for (size_t i = 0; i < nodes; ++i) {
                if (zones[i] != zone) continue;
                uint64_t far = 0;
                uint64_t near = 0;
                for (size_t j = 0; j < nodes; ++j) (zones[j] == zone ? near : far) += traffic[i][j];
                // These are sums of the blocks that the node relays, and the finished block for Z -
                // 1 relays.
                const uint64_t relayed = far / block - (count - 1);
                EXPECT_EQ(far % block, 0U);
                EXPECT_GE(relayed, (nodes - members) / members);
                EXPECT_LE(relayed, (nodes - members + members - 1) / members);
                // These are partials of the blocks that the node does not carry, and finished
                // chunks of the blocks that it carries.
                const uint64_t partials = members == 1 ? 0 : nodes - 1 - relayed;
                EXPECT_EQ(near, block * (partials + (relayed + 1) * (members - 1)));
                left += far;
            }
            // (1 + (Z-2) · a/N) · S
            EXPECT_EQ(left, block * (nodes + (count - 2) * members));
        }
    }
}

TEST(Zoned, BetweenTwoZonesEachNodeTalksToOnePartner) {
    base::Random random(1);
    const Places zones = {1, 2, 1, 1, 2, 2, 1, 2};
    const ZonedExchange exchange = random_zoned({{DType::f32, 16 * 8 * 5}}, zones, random);
    Traffic traffic;
    run_zoned(exchange, cut(64), std::nullopt, &traffic);
    for (size_t i = 0; i < 8; ++i) {
        std::vector<uint64_t> far;
        for (size_t j = 0; j < 8; ++j)
            if (zones[i] != zones[j] && traffic[i][j] > 0) far.push_back(traffic[i][j]);
        EXPECT_EQ(far, std::vector<uint64_t>{exchange.layout.bytes() / 4});
    }
}

TEST(Zoned, WhereEveryNodeIsAloneOrAllAreTogetherItIsTheDirectOne) {
    base::Random random(2);
    for (const Places& zones : {Places{1, 2, 3, 4}, Places{4, 4, 4, 4}, Places{0, 0, 0, 0}}) {
        const ZonedExchange exchange = random_zoned({{DType::f32, 16 * 4 * 2}}, zones, random);
        Traffic traffic;
        run_zoned(exchange, cut(64), std::nullopt, &traffic);
        for (size_t i = 0; i < 4; ++i)
            for (size_t j = 0; j < 4; ++j)
                EXPECT_EQ(traffic[i][j], i == j ? 0 : exchange.layout.bytes() / 2);
    }
}

TEST(Zoned, LittleGoesAsWithoutZones) {
    base::Random random(3);
    const ZonedExchange exchange = random_zoned({{DType::bf16, 2000}}, {1, 1, 2, 2, 2}, random);
    const Bytes expected = reference_all_reduce(exchange.layout, exchange.nodes, exchange.scale);
    for (const Bytes& result : run_zoned(exchange, AllReduceOptions()))
        EXPECT_TRUE(result == expected);
}

TEST(Zoned, LargeVectorsWithDefaultOptions) {
    for (const size_t nodes : {3U, 5U, 8U, 12U}) {
        base::Random random(nodes);
        for (const Places& zones : divisions(nodes, random)) {
            expect_reference(random_zoned({{DType::f32, 100003}}, zones, random),
                             AllReduceOptions());
            expect_reference(random_zoned({{DType::f16, 100003}}, zones, random),
                             AllReduceOptions(), 5);
        }
    }
}

TEST(Zoned, SumsThatAreExactAreThoseOfTheDirectOne) {
    const Layout layout(
        {{DType::f32, 300}, {DType::f64, 300}, {DType::f16, 300}, {DType::bf16, 300}});
    base::Random random(4);
    for (const size_t nodes : {4U, 7U, 12U})
        for (const Places& zones : divisions(nodes, random)) {
            ZonedExchange exchange{layout, {}, zones};
            for (size_t node = 0; node < nodes; ++node)
                exchange.nodes.push_back(
                    {make_worker(layout, 1.0, [&](size_t i) { return (i + node) % 3; }),
                     make_worker(layout, 2.0, [](size_t i) { return i % 2; })});
            exchange.scale = 0.5;
            const Bytes expected = reference_all_reduce(layout, exchange.nodes, exchange.scale);
            for (const Bytes& result : run_zoned(exchange, cut(64)))
                ASSERT_TRUE(result == expected) << text_of(zones);
        }
}

TEST(Zoned, AMeanThatF16HoldsIsNotLostInAZonesSum) {
    const Layout layout({{DType::f16, 100}});
    ZonedExchange exchange{layout, {}, {1, 1, 1, 1, 2, 2, 3, 1}};
    exchange.scale = 0.125;
    for (size_t node = 0; node < 8; ++node)
        exchange.nodes.push_back({make_worker(layout, 1.0, [](size_t) { return 60000; })});
    for (const Bytes& result : run_zoned(exchange, cut(64)))
        for (size_t i = 0; i < 100; ++i)
            ASSERT_EQ(read_value(DType::f16, result.data(), i), 60000.0);
}

TEST(Zoned, NansAndInfinitiesPropagateAsOnePattern) {
    base::Random random(5);
    ZonedExchange exchange{
        Layout({{DType::f32, 100}, {DType::f16, 100}, {DType::bf16, 100}}), {}, {1, 2, 1, 3, 2}};
    for (size_t node = 0; node < 5; ++node)
        exchange.nodes.push_back({random_worker(exchange.layout, 1.0, random)});
    // Node 3 is alone in its zone; nodes 1 and 4 share one.
    auto* f32 = exchange.nodes[3][0].segments[0].data();
    kernels::write_element(f32, 7, std::bit_cast<float>(0xFFC12345U));
    write_value(DType::f32, f32, 8, INFINITY);
    write_value(DType::f32, exchange.nodes[1][0].segments[0].data(), 9, INFINITY);
    write_value(DType::f32, exchange.nodes[4][0].segments[0].data(), 9, -INFINITY);
    write_value(DType::f32, exchange.nodes[0][0].segments[0].data(), 10, INFINITY);
    write_value(DType::f32, f32, 10, -INFINITY);
    write_value(DType::f16, exchange.nodes[2][0].segments[1].data(), 3, NAN);
    expect_reference(exchange, cut(64));
    for (const Bytes& result : run_zoned(exchange, cut(64))) {
        for (const size_t i : {7U, 9U, 10U})
            EXPECT_EQ(kernels::read_element<uint32_t>(result.data(), i), 0x7FC00000U);
        EXPECT_EQ(read_value(DType::f32, result.data(), 8), INFINITY);
        EXPECT_EQ(kernels::read_element<uint16_t>(result.data() + exchange.layout.offset(1), 3),
                  0x7E00);
    }
}

// Halves travel between zones also as the zones' sums.
TEST(Zoned, HalvesTravelBetweenZonesToo) {
    base::Random random(6);
    for (const size_t nodes : {3U, 6U, 9U})
        for (const Places& zones : divisions(nodes, random)) {
            const ZonedExchange exchange = random_zoned({{DType::f32, 1501}}, zones, random);
            // The same exchange with the nodes' partials as halves.
            ZonedExchange halves{Layout({{DType::bf16, 1501}}), {}, zones, exchange.scale};
            for (const auto& workers : exchange.nodes) {
                Bytes partial(1501 * sizeof(float));
                std::vector<kernels::Source> own;
                for (const Worker& worker : workers)
                    own.push_back({worker.segments[0].data(), worker.weight});
                kernels::reference_sum(DType::f32, own, 1.0, partial.data(), 1501);
                halves.nodes.push_back({make_worker(halves.layout, 1.0, [&](size_t i) {
                    return read_value(DType::f32, partial.data(), i);
                })});
            }
            const Bytes expected = zoned_reference(halves);
            std::vector<Bytes> results(nodes, Bytes(exchange.layout.bytes()));
            std::vector<LocalPart> parts;
            for (const auto& workers : exchange.nodes)
                parts.push_back(local_part(exchange.layout, workers));
            TestCluster cluster(nodes, std::nullopt, {}, zones);
            for (size_t i = 0; i < nodes; ++i)
                cluster.start(i, half_all_reduce(cluster.communicator(i), parts[i], exchange.scale,
                                                 results[i], cut(128), DType::bf16));
            cluster.run_well();
            for (const Bytes& result : results)
                for (size_t i = 0; i < 1501; ++i)
                    ASSERT_EQ(read_value(DType::f32, result.data(), i),
                              read_value(DType::bf16, expected.data(), i));
        }
}

}  // namespace
}  // namespace pace::collectives
