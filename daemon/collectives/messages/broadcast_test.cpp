#include "daemon/collectives/messages/broadcast.h"

#include <bit>
#include <numeric>

#include <gtest/gtest.h>

#include "daemon/collectives/messages/barrier.h"
#include "daemon/collectives/messages/transfer.h"
#include "daemon/collectives/tests/test_cluster.h"
#include "daemon/collectives/tests/test_data.h"

namespace pace::collectives {
namespace {

Bytes random_bytes(size_t size, uint64_t seed) {
    base::Random random(seed);
    Bytes bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    return bytes;
}

class BroadcastAmong : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Nodes, BroadcastAmong, testing::Range(size_t{1}, size_t{18}));

TEST_P(BroadcastAmong, EveryNodeGetsTheRootsBytes) {
    const size_t nodes = GetParam();
    for (size_t root = 0; root<nodes; root += nodes> 5 ? 3 : 1)
        for (const size_t size : {0U, 1U, 63U, 64U, 65U, 1000U, 30000U})
            for (const bool tree : {true, false})
                for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), {root}}) {
                    TestCluster cluster(nodes, seed);
                    std::vector<Bytes> bytes(nodes, Bytes(size));
                    bytes[root] = random_bytes(size, size + root);
                    const Bytes expected = bytes[root];
                    BroadcastOptions options;
                    options.small_bytes_max = tree ? SIZE_MAX : 0;
                    options.chunk_bytes_min = options.chunk_bytes_max = size > 5000 ? 8192 : 64;
                    options.window = 3;
                    for (size_t i = 0; i < nodes; ++i)
                        cluster.start(i,
                                      broadcast(cluster.communicator(i), root, bytes[i], options));
                    cluster.run_well();
                    for (const Bytes& one : bytes) ASSERT_TRUE(one == expected);
                    if (nodes == 1) continue;
                    uint64_t sent = 0;
                    for (size_t i = 0; i < nodes; ++i)
                        sent += cluster.communicator(i).counters().bytes_sent;
                    EXPECT_EQ(sent, (nodes - 1) * size);
                    if (!tree) {
                        EXPECT_EQ(cluster.communicator(root).counters().bytes_sent, size);
                    }
                }
}

std::byte made(size_t i) {
    return static_cast<std::byte>(i % 251);
}

TEST_P(BroadcastAmong, TheRootMakesAChunkWhenItLeaves) {
    constexpr size_t kSize = 640000;
    const size_t nodes = GetParam();
    const size_t root = nodes / 2;
    for (const bool tree : {true, false}) {
        TestCluster cluster(nodes, 1);
        std::vector<Bytes> bytes(nodes, Bytes(kSize));
        std::vector<ByteRange> asked;
        BroadcastOptions options;
        options.small_bytes_max = tree ? SIZE_MAX : 0;
        options.chunk_bytes_min = options.chunk_bytes_max = 6400;
        options.window = 3;
        // Called at the root alone.
        options.source = [&asked](ByteRange range, std::byte* out) {
            asked.push_back(range);
            for (size_t i = 0; i < range.size(); ++i) out[i] = made(range.begin + i);
        };
        for (size_t i = 0; i < nodes; ++i)
            cluster.start(i, broadcast(cluster.communicator(i), root, bytes[i], options));
        if (!tree && nodes > 1) {
            EXPECT_LE(asked.size(), options.window) << "before anything has left";
        }
        cluster.run_well();
        for (const Bytes& one : bytes)
            for (size_t i = 0; i < kSize; ++i) ASSERT_EQ(one[i], made(i)) << i;
        if (tree || nodes == 1) continue;
        EXPECT_EQ(asked.size(), 100U);
        for (const ByteRange range : asked) EXPECT_EQ(range.size(), 6400U);
    }
}

TEST(Broadcast, RefusesARootThatIsNoNode) {
    TestCluster cluster(2);
    Bytes bytes(1);
    cluster.start(0, broadcast(cluster.communicator(0), 2, bytes, BroadcastOptions()));
    EXPECT_EQ(cluster.outcome(0).error().kind, base::ErrorKind::invalid);
}

TEST_P(BroadcastAmong, NobodyPassesABarrierThatSomebodyHasNotReached) {
    const size_t nodes = GetParam();
    for (size_t late = 0; late < nodes; ++late) {
        TestCluster cluster(nodes, late);
        for (size_t i = 0; i < nodes; ++i)
            if (i != late) cluster.start(i, barrier(cluster.communicator(i)));
        cluster.run();
        for (size_t i = 0; i < nodes; ++i) ASSERT_FALSE(cluster.ended(i));
        cluster.start(late, barrier(cluster.communicator(late)));
        cluster.run_well();
        for (size_t i = 0; i < nodes; ++i) {
            const auto counters = cluster.communicator(i).counters();
            EXPECT_EQ(counters.messages_sent, static_cast<uint64_t>(std::bit_width(nodes - 1)));
            EXPECT_EQ(counters.bytes_sent, 0U);
        }
    }
}

TEST(Transfer, MovesBytesBetweenTwoOfMany) {
    for (const size_t size : {0U, 1U, 64U, 5000U, 100000U})
        for (const uint64_t seed : {1U, 2U, 3U}) {
            TestCluster cluster(4, seed);
            const Bytes from = random_bytes(size, seed);
            Bytes to(size);
            TransferOptions options;
            options.chunk_bytes = 4992;
            cluster.start(2, transfer_to(cluster.communicator(2), 0, from, options));
            cluster.start(0, transfer_from(cluster.communicator(0), 2, to, options));
            cluster.run();
            ASSERT_TRUE(cluster.ended(0) && cluster.ended(2));
            EXPECT_TRUE(cluster.outcome(0).ok() && cluster.outcome(2).ok());
            EXPECT_TRUE(from == to);
        }
}

}  // namespace
}  // namespace pace::collectives
