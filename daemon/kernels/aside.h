// Aside: moves work on much memory out of the event loop. The loop does work on little memory
// itself, since switching to another thread and back takes longer. All other work goes to the pool,
// in pieces. The loop is called when the work has ended.
//
// Only the caller waits for the work. The caller ensures that its memory is not in other use
// meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "base/loop/task.h"
#include "daemon/kernels/pool.h"

namespace pace::kernels {

class Aside {
  public:
    using Done = WorkerPool::Callback;

    // The number of bytes of a range that a thread claims at once.
    static constexpr size_t kGrainBytes = size_t{64} << 10U;
    // A piece that touches more memory counts as slow. Other work does not wait for a slow piece.
    // The value is a guess, about a millisecond.
    static constexpr size_t kQuickBytesMax = size_t{4} << 20U;

    // `post` brings a callback to the loop's thread. Without `post`, all work is done at once. Work
    // that touches at most `little_bytes` is little.
    Aside(WorkerPool& pool, WorkerPool::Post post, size_t little_bytes)
        : pool_(pool), post_(std::move(post)), little_bytes_(little_bytes) {}

    bool is_little(size_t bytes) const { return !post_ || bytes <= little_bytes_; }

    // Runs `work` over [0, size) in pieces of `grain`, in several threads at once. All of the work
    // together touches `bytes` bytes. Then calls `done` in the loop's thread. If the work is
    // little, the call comes before this function returns. Objects that `work` refers to must live
    // until then.
    void run(size_t bytes, size_t size, size_t grain, WorkerPool::Work work, Done done) const {
        if (is_little(bytes)) {
            pool_.parallel_for(size, grain, work);
            done();
            return;
        }
        const size_t pieces = std::max<size_t>(1, size / std::max<size_t>(1, grain));
        pool_.submit(
            size, grain, std::move(work), post_, std::move(done),
            bytes / pieces > kQuickBytesMax ? WorkerPool::Pieces::slow : WorkerPool::Pieces::quick);
    }
    // Does the same for work that cannot be cut.
    void run(size_t bytes, std::function<void()> work, Done done) const {
        if (is_little(bytes)) {
            work();
            done();
            return;
        }
        pool_.submit(
            1, 1, [work = std::move(work)](size_t, size_t) { work(); }, post_, std::move(done),
            WorkerPool::Pieces::slow);
    }

    // The same two functions as tasks.
    base::Task<> run(size_t bytes, size_t size, size_t grain, WorkerPool::Work work) const {
        base::OneShot<bool> ended;
        run(bytes, size, grain, std::move(work), [&ended] { ended.set(true); });
        co_await ended;
    }
    base::Task<> run(size_t bytes, std::function<void()> work) const {
        base::OneShot<bool> ended;
        run(bytes, std::move(work), [&ended] { ended.set(true); });
        co_await ended;
    }

  private:
    WorkerPool& pool_;
    WorkerPool::Post post_;
    size_t little_bytes_;
};

}  // namespace pace::kernels
