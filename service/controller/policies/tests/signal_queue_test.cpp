#include "service/controller/policies/signal_queue.h"

#include <deque>
#include <map>

#include <gtest/gtest.h>

#include "base/random.h"

namespace pace::controller {
namespace {

TEST(SignalQueue, KeepsOrderPerDigestUnderRandomPushesAndRemovals) {
    base::Random random(3);
    constexpr uint32_t kWorld = 20;
    SignalQueue queue(kWorld);
    std::map<uint32_t, std::deque<Rank>> expected;
    for (int step = 0; step < 5000; ++step) {
        const auto rank = static_cast<Rank>(random.below(kWorld));
        const auto digest = static_cast<uint32_t>(random.below(3));
        if (queue.contains(rank)) {
            auto& line = expected[queue.signal(rank).digest];
            std::erase(line, rank);
            ASSERT_TRUE(queue.remove(rank));
        } else {
            ASSERT_FALSE(queue.remove(rank));
            ASSERT_TRUE(queue.push(Signal{rank, digest, 0, {}}));
            ASSERT_FALSE(queue.push(Signal{rank, digest + 1, 0, {}}));
            expected[digest].push_back(rank);
        }
        std::erase_if(expected, [](const auto& line) { return line.second.empty(); });
        ASSERT_EQ(queue.lines().size(), expected.size());
        uint32_t size = 0;
        for (const SignalQueue::Line& line : queue.lines()) {
            std::deque<Rank> ranks;
            for (Rank r = line.first; r != kNoRank; r = queue.next(r)) ranks.push_back(r);
            ASSERT_EQ(ranks, expected.at(line.digest));
            ASSERT_EQ(line.size, ranks.size());
            size += line.size;
        }
        ASSERT_EQ(queue.size(), size);
    }
}

}  // namespace
}  // namespace pace::controller
