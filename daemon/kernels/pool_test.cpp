#include "daemon/kernels/pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace pace::kernels {
namespace {

class PoolWithThreads : public testing::TestWithParam<size_t> {};

TEST_P(PoolWithThreads, ParallelForCoversTheRangeExactlyOnce) {
    WorkerPool pool(GetParam());
    EXPECT_EQ(pool.threads(), GetParam());
    for (const size_t size : {0U, 1U, 63U, 64U, 65U, 1000U, 100000U}) {
        std::vector<uint8_t> visits(size);
        pool.parallel_for(size, 64, [&](size_t begin, size_t end) {
            EXPECT_LE(end - begin, 64U);
            EXPECT_EQ(begin % 64, 0U);
            for (size_t i = begin; i < end; ++i) ++visits[i];
        });
        EXPECT_EQ(visits, std::vector<uint8_t>(size, 1));
    }
}

TEST_P(PoolWithThreads, SubmitTellsTheEndOnceThroughPost) {
    WorkerPool pool(GetParam());
    for (const size_t size : {0U, 1U, 1000U}) {
        std::atomic<size_t> worked = 0;
        std::atomic<int> posts = 0;
        std::promise<WorkerPool::Callback> posted;
        pool.submit(
            size, 16, [&](size_t begin, size_t end) { worked += end - begin; },
            [&](WorkerPool::Callback callback) {
                ++posts;
                posted.set_value(std::move(callback));
            },
            [&] { EXPECT_EQ(worked, size); });
        posted.get_future().get()();
        EXPECT_EQ(posts, 1);
    }
}

TEST_P(PoolWithThreads, JobsFromSeveralThreadsShareThePool) {
    WorkerPool pool(GetParam());
    std::array<size_t, 4> sums{};
    std::vector<std::thread> callers;
    callers.reserve(sums.size());
    for (size_t& sum : sums)
        callers.emplace_back([&pool, &sum] {
            for (int round = 0; round < 100; ++round) {
                std::atomic<size_t> total = 0;
                pool.parallel_for(1000, 10,
                                  [&](size_t begin, size_t end) { total += end - begin; });
                sum += total;
            }
        });
    for (std::thread& caller : callers) caller.join();
    for (const size_t sum : sums) EXPECT_EQ(sum, 100000U);
}

TEST_P(PoolWithThreads, WorkMayUseThePoolItself) {
    WorkerPool pool(GetParam());
    std::atomic<size_t> total = 0;
    pool.parallel_for(8, 1, [&](size_t, size_t) {
        pool.parallel_for(100, 7, [&](size_t begin, size_t end) { total += end - begin; });
    });
    EXPECT_EQ(total, 800U);
}

TEST_P(PoolWithThreads, EndsWhatWasSubmittedBeforeItsOwnEnd) {
    std::atomic<size_t> worked = 0;
    std::atomic<int> ended = 0;
    {
        WorkerPool pool(GetParam());
        for (int i = 0; i < 50; ++i)
            pool.submit(
                100, 3, [&](size_t begin, size_t end) { worked += end - begin; },
                [](const WorkerPool::Callback& callback) { callback(); }, [&] { ++ended; });
    }
    EXPECT_EQ(worked, 5000U);
    EXPECT_EQ(ended, 50);
}

INSTANTIATE_TEST_SUITE_P(Threads, PoolWithThreads, testing::Values(0, 1, 2, 5));

TEST(Pool, HasAThreadPerProcessorByDefaultAndOneBesideSlowPieces) {
    EXPECT_GE(WorkerPool::default_threads(), 2U);
}

// There are three copies of gigabytes that cannot be cut, and a fourth user's sum.
TEST(Pool, QuickPiecesDoNotWaitForSlowOnes) {
    WorkerPool pool(2);
    std::promise<void> over;
    const std::shared_future<void> ends = over.get_future().share();
    std::atomic<int> ended = 0;
    const WorkerPool::Post at_once = [](const WorkerPool::Callback& callback) { callback(); };
    for (int i = 0; i < 3; ++i)
        pool.submit(
            1, 1, [ends](size_t, size_t) { ends.wait(); }, at_once, [&] { ++ended; },
            WorkerPool::Pieces::slow);
    std::promise<void> summed;
    pool.submit(
        100, 1, [](size_t, size_t) {}, at_once, [&] { summed.set_value(); });
    EXPECT_EQ(summed.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready)
        << "it waits for work that does not end before it has";
    EXPECT_EQ(ended, 0);
    over.set_value();
    pool.stop();
    EXPECT_EQ(ended, 3);
}

TEST(Pool, SlowPiecesTakeTheOtherThreadsInTurn) {
    for (const size_t threads : {1U, 2U, 4U}) {
        WorkerPool pool(threads);
        std::atomic<int> at_once = 0;
        std::atomic<int> most = 0;
        std::atomic<int> ended = 0;
        for (int i = 0; i < 20; ++i)
            pool.submit(
                5, 1,
                [&](size_t, size_t) {
                    const int now = ++at_once;
                    int known = most;
                    while (now > known && !most.compare_exchange_weak(known, now)) {
                    }
                    --at_once;
                },
                [](const WorkerPool::Callback& callback) { callback(); }, [&] { ++ended; },
                WorkerPool::Pieces::slow);
        pool.stop();
        EXPECT_EQ(ended, 20);
        EXPECT_LE(most, static_cast<int>(std::max<size_t>(1, threads - 1)));
    }
}

TEST_P(PoolWithThreads, TellsTheCallerThatWorkFoundNoMemoryOnceAllOfItHasEnded) {
    WorkerPool pool(GetParam());
    std::atomic<size_t> worked = 0;
    const auto work = [&](size_t begin, size_t end) {
        worked += end - begin;
        if (begin == 0) throw std::bad_alloc();
    };
    EXPECT_THROW(pool.parallel_for(1000, 10, work), std::bad_alloc);
    EXPECT_TRUE(pool.threads() == 0 || worked == 1000U) << worked;
}

TEST_P(PoolWithThreads, ThrowsWhereTheCallbackIsWantedIfWorkFoundNoMemory) {
    std::vector<WorkerPool::Callback> posted;
    bool done = false;
    {
        WorkerPool pool(GetParam());
        pool.submit(
            1, 1, [](size_t, size_t) { throw std::bad_alloc(); },
            [&](WorkerPool::Callback callback) { posted.push_back(std::move(callback)); },
            [&] { done = true; });
    }
    ASSERT_EQ(posted.size(), 1U);
    EXPECT_THROW(posted[0](), std::bad_alloc);
    EXPECT_FALSE(done);
}

TEST_P(PoolWithThreads, ThatHasStoppedWorksInTheCallersThread) {
    WorkerPool pool(GetParam());
    pool.stop();
    std::set<std::thread::id> threads;
    pool.parallel_for(100, 10, [&](size_t, size_t) { threads.insert(std::this_thread::get_id()); });
    EXPECT_EQ(threads, (std::set{std::this_thread::get_id()}));
}

}  // namespace
}  // namespace pace::kernels
