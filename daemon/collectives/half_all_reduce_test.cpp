#include "daemon/collectives/half_all_reduce.h"

#include <array>
#include <bit>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "daemon/collectives/layout/halves.h"
#include "daemon/collectives/tests/test_cluster.h"
#include "daemon/collectives/tests/test_data.h"

namespace pace::collectives {
namespace {

using protocol::DType;

constexpr std::array kHalves = {DType::f16, DType::bf16};

uint16_t half_of(DType half, float value) {
    return half == DType::f16 ? base::f16_from_float(value) : base::bf16_from_float(value);
}

struct HalfExchange {
    Layout layout;
    DType half = DType::f16;
    std::vector<std::vector<Worker>> nodes;
    double scale = 1.0;
    std::vector<bool> contributes = {};
};

HalfExchange random_half_exchange(DType half, std::vector<Segment> segments, size_t nodes,
                                  base::Random& random) {
    HalfExchange exchange{Layout(std::move(segments)), half, {}, 1.0 / static_cast<double>(nodes)};
    exchange.nodes.resize(nodes);
    for (auto& workers : exchange.nodes)
        for (size_t i = random.below(4); i-- > 0;)
            workers.push_back(random_worker(exchange.layout,
                                            random.below(2) == 0 ? 1.0 : random.uniform(), random));
    return exchange;
}

AllReduceOptions by_bruck() {
    AllReduceOptions options;
    options.small_bytes_max = SIZE_MAX;
    return options;
}

AllReduceOptions straight(size_t chunk_bytes) {
    AllReduceOptions options;
    options.small_bytes_max = 0;
    options.chunk_bytes_min = options.chunk_bytes_max = chunk_bytes;
    options.window = 3;
    return options;
}

std::vector<Bytes> run_halves(const HalfExchange& exchange, const AllReduceOptions& options,
                              std::optional<uint64_t> seed = std::nullopt,
                              std::vector<Communicator::Counters>* counters = nullptr) {
    const size_t nodes = exchange.nodes.size();
    std::vector<Bytes> results(nodes, Bytes(exchange.layout.bytes(), std::byte{0xAB}));
    std::vector<LocalPart> parts;
    for (const auto& workers : exchange.nodes)
        parts.push_back(local_part(exchange.layout, workers));
    TestCluster cluster(nodes, seed, exchange.contributes);
    for (size_t i = 0; i < nodes; ++i)
        cluster.start(i, half_all_reduce(cluster.communicator(i), parts[i], exchange.scale,
                                         results[i], options, exchange.half));
    cluster.run_well();
    if (counters != nullptr)
        for (size_t i = 0; i < nodes; ++i) counters->push_back(cluster.communicator(i).counters());
    return results;
}

// The definition, one element at a time. Partials become buffers of halves. These buffers are
// summed like all_reduce's reference.
Bytes reference_half_all_reduce(const HalfExchange& exchange) {
    std::vector<Segment> segments = exchange.layout.segments();
    for (Segment& segment : segments)
        if (protocol::size_of(segment.dtype) > 2) segment.dtype = exchange.half;
    const Layout halves(segments);
    std::vector<std::vector<Worker>> partials(exchange.nodes.size());
    for (size_t node = 0; node < partials.size(); ++node) {
        Worker rounded;
        for (size_t s = 0; s < segments.size(); ++s) {
            const Segment own = exchange.layout.segments()[s];
            std::vector<kernels::Source> sources;
            for (const Worker& worker : exchange.nodes[node])
                sources.push_back({worker.segments[s].data(), worker.weight});
            Bytes sum(own.count * protocol::size_of(own.dtype));
            kernels::reference_sum(own.dtype, sources, 1.0, sum.data(), own.count);
            Bytes bytes(own.count * sizeof(uint16_t));
            for (size_t i = 0; i < own.count; ++i)
                write_value(segments[s].dtype, bytes.data(), i,
                            read_value(own.dtype, sum.data(), i));
            rounded.segments.push_back(std::move(bytes));
        }
        partials[node].push_back(std::move(rounded));
    }
    const Bytes sum = reference_all_reduce(halves, partials, exchange.scale, exchange.contributes);
    Bytes result(exchange.layout.bytes());
    for (size_t s = 0; s < segments.size(); ++s)
        for (size_t i = 0; i < segments[s].count; ++i)
            write_value(exchange.layout.segments()[s].dtype,
                        result.data() + exchange.layout.offset(s), i,
                        read_value(segments[s].dtype, sum.data() + halves.offset(s), i));
    return result;
}

void expect_exact_halves(const HalfExchange& exchange, const AllReduceOptions& options,
                         std::optional<uint64_t> seed = std::nullopt) {
    const Bytes expected = reference_half_all_reduce(exchange);
    const std::vector<Bytes> results = run_halves(exchange, options, seed);
    for (size_t i = 0; i < results.size(); ++i)
        ASSERT_TRUE(results[i] == expected) << "node " << i << " of " << results.size();
}

TEST(Halves, EveryPatternIsWidenedAndNarrowedAsOneAtATime) {
    std::vector<uint16_t> patterns(65536);
    for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
    for (const DType half : kHalves) {
        std::vector<float> wide(patterns.size());
        widen(half, std::as_bytes(std::span(patterns)).data(), wide);
        std::vector<uint16_t> back(patterns.size());
        narrow(half, wide, std::as_writable_bytes(std::span(back)).data());
        for (size_t i = 0; i < patterns.size(); ++i) {
            const float expected = half == DType::f16 ? base::float_from_f16(patterns[i])
                                                      : base::float_from_bf16(patterns[i]);
            ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(expected)) << i;
            ASSERT_EQ(back[i], half_of(half, expected)) << i;
        }
    }
}

TEST(Halves, FloatsOfEverySizeAreRoundedAsOneAtATime) {
    base::Random random(4);
    std::vector<float> values;
    // Every exponent, and the neighbors of ties.
    for (uint32_t top = 0; top < 65536; ++top)
        for (const uint32_t rest : {0U, 1U, 0x0FFFU, 0x1000U, 0x1001U, 0x7FFFU, 0x8000U, 0x8001U})
            values.push_back(std::bit_cast<float>(top << 16U | rest));
    for (size_t i = 0; i < 100003; ++i)
        values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random.next())));
    for (const DType half : kHalves) {
        std::vector<uint16_t> narrowed(values.size());
        narrow(half, values, std::as_writable_bytes(std::span(narrowed)).data());
        for (size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(narrowed[i], half_of(half, values[i])) << std::bit_cast<uint32_t>(values[i]);
    }
}

class HalfAllReduceAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Nodes, HalfAllReduceAmong, testing::Range(size_t{2}, size_t{18}));

TEST_P(HalfAllReduceAmong, EqualsTheReferenceBitByBit) {
    base::Random random(GetParam());
    for (const DType half : kHalves)
        for (const DType own : {DType::f32, DType::f64})
            for (const size_t count : {1U, 33U, 64U, 65U, 2500U}) {
                SCOPED_TRACE(std::string(name_of(own)) + " x " + std::to_string(count));
                const HalfExchange exchange =
                    random_half_exchange(half, {{own, count}}, GetParam(), random);
                expect_exact_halves(exchange, by_bruck());
                expect_exact_halves(exchange, straight(64 * (1 + random.below(4))));
            }
}

TEST_P(HalfAllReduceAmong, SegmentsThatAreHalvesKeepTheirTypeAndOthersWidenBehindThem) {
    base::Random random(100 + GetParam());
    for (const DType half : kHalves) {
        HalfExchange exchange = random_half_exchange(half,
                                                     {{DType::f16, 40},
                                                      {DType::f32, 3000},
                                                      {DType::f64, 65},
                                                      {DType::bf16, 0},
                                                      {DType::bf16, 1500},
                                                      {DType::f32, 1},
                                                      {DType::f16, 7}},
                                                     GetParam(), random);
        expect_exact_halves(exchange, by_bruck(), 3);
        expect_exact_halves(exchange, straight(128), 5);
        expect_exact_halves(exchange, AllReduceOptions());
        for (size_t i = 0; i < GetParam(); ++i)
            exchange.contributes.push_back(random.below(2) == 0);
        expect_exact_halves(exchange, by_bruck());
        expect_exact_halves(exchange, straight(64), 7);
    }
}

TEST_P(HalfAllReduceAmong, HalfTheBytesAreOnTheWire) {
    base::Random random(1);
    const size_t nodes = GetParam();
    const std::vector<Segment> segments{{DType::f32, 32 * nodes * 4}};
    const HalfExchange exchange = random_half_exchange(DType::f16, segments, nodes, random);
    for (const AllReduceOptions& options : {straight(64), by_bruck()}) {
        std::vector<Communicator::Counters> counters;
        run_halves(exchange, options, std::nullopt, &counters);
        const bool is_bruck = options.small_bytes_max > 0;
        const uint64_t full = exchange.layout.bytes();
        const uint64_t dense = is_bruck ? (nodes - 1) * full : 2 * (nodes - 1) * full / nodes;
        for (const auto& node : counters) {
            EXPECT_EQ(2 * node.bytes_sent, dense);
            EXPECT_EQ(2 * node.bytes_received, dense);
        }
    }
}

TEST(HalfAllReduce, OneNodeAloneRoundsNothing) {
    base::Random random(8);
    HalfExchange exchange = random_half_exchange(DType::bf16, {{DType::f32, 500}}, 1, random);
    exchange.nodes[0].push_back(random_worker(exchange.layout, 0.7, random));
    EXPECT_EQ(run_halves(exchange, {})[0],
              reference_all_reduce(exchange.layout, exchange.nodes, exchange.scale));
}

TEST(HalfAllReduce, WhatIsTooLargeForF16IsInfiniteEverywhereAndBf16HoldsIt) {
    const Layout layout({{DType::f32, 6}});
    const std::vector<double> a = {70000, 65504, 65519.9, 65520, 1e-9, NAN};
    const std::vector<double> b = {1, 65504, 0, 0, 0, 1};
    HalfExchange exchange{layout, DType::f16, {}, 0.5};
    for (const auto* values : {&a, &b})
        exchange.nodes.push_back(
            {make_worker(layout, 1.0, [&](size_t i) { return (*values)[i]; })});
    for (const Bytes& result : run_halves(exchange, {})) {
        EXPECT_EQ(read_value(DType::f32, result.data(), 0), INFINITY);
        EXPECT_EQ(read_value(DType::f32, result.data(), 1), 65504) << "scaled before it is rounded";
        EXPECT_EQ(read_value(DType::f32, result.data(), 2), 32752);
        EXPECT_EQ(read_value(DType::f32, result.data(), 3), INFINITY);
        EXPECT_EQ(read_value(DType::f32, result.data(), 4), 0);
        EXPECT_EQ(kernels::read_element<uint32_t>(result.data(), 5), 0x7FC00000U);
    }
    exchange.half = DType::bf16;
    const Bytes result = run_halves(exchange, {})[1];
    EXPECT_NEAR(read_value(DType::f32, result.data(), 0), 35000, 200);
    EXPECT_GT(read_value(DType::f32, result.data(), 4), 0);
}

TEST(HalfAllReduce, RefusesWhatIsNoHalfAndAResultOfTheWrongSize) {
    const Layout layout({{DType::f32, 100}});
    const LocalPart part = local_part(layout, {});
    Bytes result(layout.bytes());
    TestCluster cluster(2);
    cluster.start(0, half_all_reduce(cluster.communicator(0), part, 1.0, result, {}, DType::f32));
    EXPECT_EQ(cluster.outcome(0).error().kind, base::ErrorKind::invalid);
    cluster.start(1, half_all_reduce(cluster.communicator(1), part, 1.0,
                                     std::span(result).first(64), {}, DType::f16));
    EXPECT_EQ(cluster.outcome(1).error().kind, base::ErrorKind::invalid);
}

TEST(HalfAllReduce, AKilledNodeEndsItEverywhereAtEveryStep) {
    base::Random random(2);
    const HalfExchange exchange =
        random_half_exchange(DType::f16, {{DType::f32, 20000}}, 4, random);
    const Bytes before(exchange.layout.bytes(), std::byte{0xAB});
    for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), {3}})
        for (size_t step = 0;; ++step) {
            std::vector<Bytes> results(4, before);
            std::vector<LocalPart> parts;
            for (const auto& workers : exchange.nodes)
                parts.push_back(local_part(exchange.layout, workers));
            TestCluster cluster(4, seed);
            for (size_t i = 0; i < 4; ++i)
                cluster.start(i, half_all_reduce(cluster.communicator(i), parts[i], 1.0, results[i],
                                                 straight(8192), DType::f16));
            for (size_t i = 0; i < step; ++i) cluster.network().progress();
            if (cluster.all_ended()) break;
            cluster.network().kill(cluster.transport(1));
            cluster.run();
            for (const size_t node : {0U, 2U, 3U}) {
                ASSERT_EQ(cluster.ends(node), 1) << step;
                if (cluster.outcome(node)) continue;
                ASSERT_EQ(cluster.outcome(node).error().kind, base::ErrorKind::unavailable);
                if (!cluster.communicator(node).result_begun()) {
                    ASSERT_EQ(results[node], before);
                }
            }
        }
}

}  // namespace
}  // namespace pace::collectives
