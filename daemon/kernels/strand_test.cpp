#include "daemon/kernels/strand.h"

#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"

namespace pace::kernels {
namespace {

constexpr size_t kLittle = 100;
constexpr size_t kMuch = 1000;

struct StrandTest : testing::Test {
    // Runs the loop until all work asked for so far is done.
    void finish() {
        bool done = false;
        strand->then([&done] { done = true; });
        while (!done) loop->turn(true);
    }
    std::function<void()> note(int number) {
        return [this, number] { order.push_back(number); };
    }
    Strand::Done tell(int number) {
        return [this, number](const base::Result<>& result) {
            EXPECT_TRUE(result);
            order.push_back(number);
        };
    }

    std::unique_ptr<base::EventLoop> loop = base::EventLoop::create().value();
    WorkerPool pool{2};
    Aside aside{pool, loop->poster(), kLittle};
    std::unique_ptr<Strand> strand = std::make_unique<Strand>(aside);
    std::vector<int> order;
};

TEST_F(StrandTest, LittleWorkIsDoneAtOnceWhereNothingIsBeforeIt) {
    strand->run(kLittle, note(1), tell(2));
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
    EXPECT_TRUE(strand->is_idle());
}

TEST_F(StrandTest, LittleWorkWaitsForMuchThatIsBeforeIt) {
    strand->run(kMuch, note(1), tell(2));
    strand->run(kLittle, note(3), tell(4));
    strand->run(kMuch, note(5), tell(6));
    EXPECT_FALSE(strand->is_idle());
    finish();
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

TEST_F(StrandTest, WorkInPiecesEndsBeforeTheNextBegins) {
    std::vector<int> values(kMuch, 1);
    const auto twice = [&values](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) values[i] *= 2;
    };
    int sum = 0;
    for (int i = 0; i < 5; ++i) strand->run(kMuch, values.size(), 7, twice);
    strand->run(kMuch, [&] { sum = std::accumulate(values.begin(), values.end(), 0); });
    finish();
    EXPECT_EQ(sum, 32 * static_cast<int>(kMuch));
}

TEST_F(StrandTest, WhoIsToldMayAskForMoreWhichComesBehindWhatWasAskedForBefore) {
    strand->run(kMuch, note(1), [this](const base::Result<>&) {
        order.push_back(2);
        strand->run(kLittle, note(5), tell(6));
    });
    strand->run(kMuch, note(3), tell(4));
    finish();
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

TEST_F(StrandTest, WorkWithoutMemoryIsToldAndTheNextIsDone) {
    bool told = false;
    strand->run(
        kMuch, [] { throw std::bad_alloc(); },
        [&told](const base::Result<>& result) {
            told = true;
            EXPECT_FALSE(result);
        });
    strand->run(kMuch, note(1), tell(2));
    finish();
    EXPECT_TRUE(told);
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(StrandTest, NobodyIsToldAfterItsEndAndWhatHasNotBegunIsDropped) {
    const auto held = std::make_shared<int>(0);
    for (int i = 0; i < 3; ++i)
        strand->run(
            kMuch, [held] {}, [held, this](const base::Result<>&) { order.push_back(1); });
    strand.reset();
    while (held.use_count() > 1) loop->turn(true);
    EXPECT_TRUE(order.empty());
}

TEST_F(StrandTest, WhoIsToldMayEndIt) {
    strand->run(kLittle, note(1), [this](const base::Result<>&) { strand.reset(); });
    EXPECT_EQ(order, (std::vector<int>{1}));
    strand = std::make_unique<Strand>(aside);
    bool ended = false;
    strand->run(kMuch, note(2), [&](const base::Result<>&) {
        strand.reset();
        ended = true;
    });
    while (!ended) loop->turn(true);
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(StrandTest, WithoutThreadsEverythingIsDoneAtOnce) {
    Strand alone;
    std::vector<int> values(10, 0);
    alone.run(kMuch, values.size(), 3, [&values](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) ++values[i];
    });
    EXPECT_EQ(values, std::vector<int>(10, 1));
    EXPECT_TRUE(alone.is_idle());
}

}  // namespace
}  // namespace pace::kernels
