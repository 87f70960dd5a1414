#include "daemon/collectives/all_reduce.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "daemon/collectives/tests/test_cluster.h"
#include "daemon/collectives/tests/test_data.h"

namespace pace::collectives {
namespace {

using protocol::DType;

constexpr std::array kDTypes = {DType::f32, DType::f64, DType::f16, DType::bf16};

AllReduceOptions little() {
    AllReduceOptions options;
    options.small_bytes_max = SIZE_MAX;
    return options;
}

// The direct algorithm, even for one element.
AllReduceOptions direct(size_t chunk_bytes, size_t window = 4, size_t sends_max = 0) {
    AllReduceOptions options;
    options.small_bytes_max = 0;
    options.chunk_bytes_min = chunk_bytes;
    options.chunk_bytes_max = chunk_bytes;
    options.window = window;
    options.sends_max = sends_max;
    return options;
}

// An exchange: the contributions, and the scale.
struct Exchange {
    Layout layout;
    std::vector<std::vector<Worker>> nodes;
    double scale = 1.0;
    std::vector<bool> contributes = {};
};

// Makes between 0 and `members_max` members on each node, weighted or not.
Exchange random_exchange(std::vector<Segment> segments, size_t nodes, base::Random& random,
                         size_t members_max = 3) {
    Exchange exchange{Layout(std::move(segments)), {}, 1.0 / static_cast<double>(nodes)};
    exchange.nodes.resize(nodes);
    for (auto& workers : exchange.nodes)
        for (size_t i = random.below(members_max + 1); i-- > 0;)
            workers.push_back(random_worker(exchange.layout,
                                            random.below(2) == 0 ? 1.0 : random.uniform(), random));
    return exchange;
}

std::vector<Bytes> run(const Exchange& exchange, const AllReduceOptions& options,
                       std::optional<uint64_t> seed = std::nullopt,
                       std::vector<Communicator::Counters>* counters = nullptr) {
    const size_t nodes = exchange.nodes.size();
    // Former contents of the scratch memory must not matter.
    std::vector<Bytes> results(nodes, Bytes(exchange.layout.bytes(), std::byte{0xAB}));
    std::vector<LocalPart> parts;
    parts.reserve(nodes);
    for (const auto& workers : exchange.nodes)
        parts.push_back(local_part(exchange.layout, workers));
    TestCluster cluster(nodes, seed, exchange.contributes);
    for (size_t i = 0; i < nodes; ++i)
        cluster.start(
            i, all_reduce(cluster.communicator(i), parts[i], exchange.scale, results[i], options));
    cluster.run_well();
    if (counters != nullptr)
        for (size_t i = 0; i < nodes; ++i) counters->push_back(cluster.communicator(i).counters());
    return results;
}

void expect_exact(const Exchange& exchange, const AllReduceOptions& options,
                  std::optional<uint64_t> seed = std::nullopt) {
    const Bytes expected =
        reference_all_reduce(exchange.layout, exchange.nodes, exchange.scale, exchange.contributes);
    const std::vector<Bytes> results = run(exchange, options, seed);
    for (size_t i = 0; i < results.size(); ++i)
        ASSERT_TRUE(results[i] == expected) << "node " << i << " of " << results.size();
}

class AllReduceAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Nodes, AllReduceAmong, testing::Range(size_t{1}, size_t{18}));

TEST_P(AllReduceAmong, EqualsTheReferenceBitByBit) {
    base::Random random(GetParam());
    for (const DType dtype : kDTypes)
        for (const size_t count : {1U, 3U, 63U, 64U, 65U, 1000U}) {
            SCOPED_TRACE(std::string(name_of(dtype)) + " x " + std::to_string(count));
            const Exchange exchange = random_exchange({{dtype, count}}, GetParam(), random);
            expect_exact(exchange, little());
            expect_exact(exchange,
                         direct(64 * (1 + random.below(4)), 1 + random.below(5), random.below(6)));
        }
}

TEST_P(AllReduceAmong, CutsSegmentsOfSeveralTypes) {
    base::Random random(100 + GetParam());
    const Exchange exchange = random_exchange({{DType::f16, 0},
                                               {DType::f32, 777},
                                               {DType::f64, 65},
                                               {DType::bf16, 0},
                                               {DType::bf16, 129},
                                               {DType::f16, 1},
                                               {DType::f32, 0}},
                                              GetParam(), random);
    expect_exact(exchange, little());
    expect_exact(exchange, direct(128));
    expect_exact(exchange, AllReduceOptions());
}

TEST_P(AllReduceAmong, TheOrderOfDeliveriesDoesNotMatter) {
    base::Random random(200 + GetParam());
    const Exchange exchange = random_exchange({{DType::f32, 1500}}, GetParam(), random);
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(seed);
        expect_exact(exchange, little(), seed);
        expect_exact(exchange, direct(64, 2), seed);
    }
}

TEST_P(AllReduceAmong, SkipsNodesThatDoNotContribute) {
    base::Random random(300 + GetParam());
    for (int round = 0; round < 4; ++round) {
        Exchange exchange =
            random_exchange({{DType::f32, 500}, {DType::f64, 9}}, GetParam(), random);
        for (size_t i = 0; i < GetParam(); ++i)
            exchange.contributes.push_back(round != 3 && random.below(2) == 0);
        expect_exact(exchange, little());
        expect_exact(exchange, direct(64));
    }
}

TEST_P(AllReduceAmong, MessagesAndBytesFollowTheFormulas) {
    base::Random random(400);
    const size_t nodes = GetParam();
    Exchange exchange = random_exchange({{DType::f32, 16 * nodes * 4}}, nodes, random);
    const uint64_t bytes = exchange.layout.bytes();
    std::vector<Communicator::Counters> counters;
    run(exchange, direct(64), std::nullopt, &counters);
    for (const auto& node : counters) {
        // Each block has four chunks. A node sends 2(N-1)/N · S each way.
        EXPECT_EQ(node.bytes_sent, 2 * (nodes - 1) * bytes / nodes);
        EXPECT_EQ(node.bytes_received, node.bytes_sent);
        EXPECT_EQ(node.messages_sent, 2 * (nodes - 1) * 4);
        EXPECT_EQ(node.messages_received, node.messages_sent);
    }
    counters.clear();
    run(exchange, little(), std::nullopt, &counters);
    for (const auto& node : counters) {
        EXPECT_EQ(node.messages_sent, static_cast<uint64_t>(std::bit_width(nodes - 1)));
        EXPECT_EQ(node.bytes_sent, (nodes - 1) * bytes);
        EXPECT_EQ(node.bytes_received, node.bytes_sent);
    }
}

TEST_P(AllReduceAmong, SumsIntegersExactly) {
    const Layout layout(
        {{DType::f32, 300}, {DType::f64, 300}, {DType::f16, 300}, {DType::bf16, 300}});
    const size_t nodes = GetParam();
    Exchange exchange{layout, {}, 1.0};
    for (size_t node = 0; node < nodes; ++node)
        exchange.nodes.push_back(
            {make_worker(layout, 1.0, [&](size_t i) { return (i + node) % 3; }),
             make_worker(layout, 2.0, [](size_t i) { return i % 2; })});
    for (const Bytes& result : run(exchange, direct(64)))
        for (size_t s = 0; s < 4; ++s)
            for (size_t i = 0; i < 300; ++i) {
                const size_t number = s * 300 + i;
                size_t sum = 2 * nodes * (number % 2);
                for (size_t node = 0; node < nodes; ++node) sum += (number + node) % 3;
                ASSERT_EQ(
                    read_value(layout.segments()[s].dtype, result.data() + layout.offset(s), i),
                    static_cast<double>(sum));
            }
}

TEST(AllReduce, LargeVectorsWithDefaultOptions) {
    for (const size_t nodes : {1U, 2U, 3U, 5U, 8U, 17U}) {
        base::Random random(nodes);
        expect_exact(random_exchange({{DType::f32, 100003}}, nodes, random), AllReduceOptions());
        expect_exact(random_exchange({{DType::f16, 100003}}, nodes, random), AllReduceOptions(), 5);
    }
}

TEST(AllReduce, OneUnweightedMemberIsSentFromItsOwnMemory) {
    // Large messages stay in the sender's memory until they are matched. Here this is the member's
    // memory.
    base::Random random(9);
    Exchange exchange{Layout({{DType::f32, 40000}}), {}, 0.25};
    for (size_t node = 0; node < 4; ++node)
        exchange.nodes.push_back({random_worker(exchange.layout, 1.0, random)});
    for (uint64_t seed = 1; seed <= 20; ++seed) expect_exact(exchange, direct(8192, 2, 3), seed);
}

TEST(AllReduce, NansAndInfinitiesPropagateAsOnePattern) {
    base::Random random(3);
    Exchange exchange =
        random_exchange({{DType::f32, 100}, {DType::f16, 100}, {DType::bf16, 100}}, 5, random, 0);
    for (auto& workers : exchange.nodes)
        workers.push_back(random_worker(exchange.layout, 1.0, random));
    auto* f32 = exchange.nodes[1][0].segments[0].data();
    kernels::write_element(f32, 7, std::bit_cast<float>(0xFFC12345U));
    write_value(DType::f32, f32, 8, INFINITY);
    write_value(DType::f32, f32, 9, INFINITY);
    write_value(DType::f32, exchange.nodes[4][0].segments[0].data(), 9, -INFINITY);
    write_value(DType::f16, exchange.nodes[2][0].segments[1].data(), 3, NAN);
    write_value(DType::bf16, exchange.nodes[2][0].segments[2].data(), 4, INFINITY);
    expect_exact(exchange, little());
    expect_exact(exchange, direct(64));
    const Bytes result = run(exchange, direct(64))[0];
    EXPECT_EQ(kernels::read_element<uint32_t>(result.data(), 7), 0x7FC00000U);
    EXPECT_EQ(read_value(DType::f32, result.data(), 8), INFINITY);
    EXPECT_EQ(kernels::read_element<uint32_t>(result.data(), 9), 0x7FC00000U);
    EXPECT_EQ(kernels::read_element<uint16_t>(result.data() + exchange.layout.offset(1), 3),
              0x7E00);
}

TEST(AllReduce, AnEmptyLayoutEndsAtOnce) {
    const Exchange exchange{Layout({{DType::f32, 0}}), std::vector<std::vector<Worker>>(3), 1.0};
    expect_exact(exchange, AllReduceOptions());
}

TEST(AllReduce, RefusesAResultOfTheWrongSize) {
    const Layout layout({{DType::f32, 10}});
    const LocalPart part = local_part(layout, {});
    Bytes result(40);
    TestCluster cluster(1);
    cluster.start(0, all_reduce(cluster.communicator(0), part, 1.0, result, AllReduceOptions()));
    EXPECT_EQ(cluster.outcome(0).error().kind, base::ErrorKind::invalid);
}

TEST(AllReduce, ChunksAreBoundedWholeCuts) {
    const AllReduceOptions options;
    EXPECT_EQ(chunk_bytes_of(options, size_t{1} << 20U, 4), 16384U);
    EXPECT_EQ(chunk_bytes_of(options, size_t{100} << 20U, 4), 65536U);
    EXPECT_EQ(chunk_bytes_of(direct(1), 10, 4), 64U);
    EXPECT_EQ(chunk_bytes_of(options, 4000037, 7) % 64, 0U);
}

// The sums of such a node wait for no other node. All sums at once would block the node's thread
// for long.
TEST(AllReduce, WhoContributesAloneSumsLittleMoreThanHasLeft) {
    constexpr size_t kChunkBytes = 8192;  // uses a rendezvous
    const Layout layout({{DType::f32, size_t{1} << 20U}});
    AllReduceOptions options;
    options.chunk_bytes_min = options.chunk_bytes_max = kChunkBytes;
    options.window = 2;
    for (const std::vector<uint32_t>& zones : {std::vector<uint32_t>(), {1, 1, 2}}) {
        base::Random random(1);
        const std::vector<Worker> workers = {random_worker(layout, 1.0, random)};
        const LocalPart part = local_part(layout, workers);
        const LocalPart nothing(layout, {});
        std::vector<Bytes> results(3, Bytes(layout.bytes(), std::byte{0xA5}));
        TestCluster cluster(3, std::nullopt, {true, false, false}, zones);
        for (size_t i = 0; i < 3; ++i)
            cluster.start(i, all_reduce(cluster.communicator(i), i == 0 ? part : nothing, 1.0,
                                        results[i], options));
        const auto summed = [&] {
            const auto untouched = std::find(results[0].begin(), results[0].end(), std::byte{0xA5});
            return static_cast<size_t>(untouched - results[0].begin());
        };
        size_t before = summed();
        EXPECT_LE(before, 8 * kChunkBytes);
        while (cluster.network().progress()) {
            EXPECT_LE(summed(), before + 8 * kChunkBytes);
            before = summed();
        }
        cluster.run_well();
        for (const Bytes& result : results)
            EXPECT_EQ(result,
                      reference_all_reduce(layout, {workers, {}, {}}, 1.0, {true, false, false}));
    }
}

}  // namespace
}  // namespace pace::collectives
