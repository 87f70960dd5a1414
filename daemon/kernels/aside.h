// Aside: the one way for work on much memory to leave the event loop. The loop does what touches little itself, since going to
// another thread and back takes longer; all else is the pool's, in pieces, and the loop hears of its end.
//
// Nobody but who asked for the work waits for it, so that its memory is in no other use meanwhile: whoever asks sees to that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "base/task.h"
#include "daemon/kernels/pool.h"

namespace pace::kernels {

class Aside {
  public:
    using Done = WorkerPool::Callback;

    // Bytes of a range that a thread claims at once.
    static constexpr size_t kGrainBytes = size_t{64} << 10U;
    // A piece that touches more is slow: others' work does not wait for it. A guess, about a millisecond.
    static constexpr size_t kQuickBytesMax = size_t{4} << 20U;

    // `post` brings a callback to the loop's thread; without one everything is done at once. Work that touches at most
    // `little_bytes` is little.
    Aside(WorkerPool& pool, WorkerPool::Post post, size_t little_bytes)
        : pool_(pool), post_(std::move(post)), little_bytes_(little_bytes) {}

    bool is_little(size_t bytes) const { return !post_ || bytes <= little_bytes_; }

    // Does `work` over [0, size) in pieces of `grain`, in several threads at once; all of it touches `bytes` bytes. Then calls `done`,
    // in the loop's thread: before this returns if it is little. What `work` refers to lives until then.
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
    // The same of work that cannot be cut.
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

    // The same two, awaited.
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
