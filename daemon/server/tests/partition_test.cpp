#include "daemon/server/partition.h"

#include <gtest/gtest.h>

namespace pace::server {
namespace {

TEST(Partition, RangesFollowEachOtherAndDifferByOneElementAtMost) {
    for (uint32_t shards = 1; shards <= 17; ++shards)
        for (size_t elements = 0; elements <= 70; ++elements) {
            const Partition partition(elements, shards);
            size_t end = 0;
            for (uint32_t shard = 0; shard < shards; ++shard) {
                const Range range = partition.range(shard);
                ASSERT_EQ(range.begin, end);
                ASSERT_GE(range.size(), elements / shards);
                ASSERT_LE(range.size(), elements / shards + 1);
                end = range.end;
                for (size_t at = range.begin; at < range.end; ++at)
                    ASSERT_EQ(partition.shard_of(at), shard) << at << " of " << elements;
            }
            ASSERT_EQ(end, elements);
        }
}

TEST(Partition, ManyElementsOverflowNothing) {
    const size_t elements = (size_t{1} << 40U) + 3;
    const Partition partition(elements, 17);
    EXPECT_EQ(partition.range(16).end, elements);
    EXPECT_EQ(partition.shard_of(elements - 1), 16U);
}

}  // namespace
}  // namespace pace::server
