// WorkerPool: the daemon's arithmetic threads. A job is a range that is cut into pieces, which
// threads claim one by one, so that a thread that the scheduler took away delays one piece and not
// a fixed share.
//
// Jobs take turns, some pieces each, so that a small one does not wait for the end of a large one. Pieces that may take
// seconds, of work that cannot be cut, leave one thread to the others.
//
// Pieces cost no allocation and no lock: one atomic addition each. Idle threads sleep on a
// condition variable; they do not spin, because trainers need the processors. Every worker thread
// has the default floating-point environment.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/condition.h"

namespace pace::kernels {

class WorkerPool {
  public:
    // Work on [begin, end) of a job's range. Called from several threads at once, never with
    // overlapping ranges.
    using Work = std::function<void(size_t begin, size_t end)>;
    using Callback = std::function<void()>;
    // Hands a callback to the thread that wants it, as EventLoop::poster() does.
    using Post = std::function<void(Callback)>;

    // How long a piece of a job takes.
    enum class Pieces {
        quick,  // a fraction of a millisecond
        slow,   // perhaps seconds. With two threads or more, one of them takes no such pieces.
    };

    // `threads` = 0: everything runs in the calling thread. Fewer, where so many cannot begin.
    explicit WorkerPool(size_t threads = default_threads());
    ~WorkerPool() { stop(); }
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    // Finishes what was submitted, then ends the threads; callbacks are posted before it returns. What comes later runs in the
    // calling thread. Not from a worker's thread.
    void stop();

    size_t threads() const { return threads_.size(); }

    // One per processor that this process may use, and no less than two.
    static size_t default_threads();

    // Runs `work` over [0, size) in pieces of `grain` (the last may be shorter) and returns when
    // all are done. The caller works too. `grain` > 0. Any thread, also a worker's own. Work that finds no memory throws
    // std::bad_alloc here, once all pieces have ended.
    void parallel_for(size_t size, size_t grain, const Work& work);

    // Starts the same and returns; when all pieces are done, `post(on_done)` is called once, from
    // the thread that finished the last piece. With 0 threads the work is done before submit
    // returns, the callback posted all the same. What `work` refers to must live until `on_done`
    // runs. If `work` finds no memory, std::bad_alloc is thrown in the thread that wants the callback, in its place.
    void submit(size_t size, size_t grain, Work work, Post post, Callback on_done,
                Pieces pieces = Pieces::quick);

  private:
    struct Job;
    using JobPointer = std::shared_ptr<Job>;

    void thread_main();
    void enqueue(const JobPointer& job, size_t helpers);
    JobPointer next_job();
    bool may_begin(const Job& job) const;
    void slow_piece_ended();

    std::mutex mutex_;
    base::Condition wake_;
    std::deque<JobPointer> jobs_;  // those with pieces left to claim; who comes first is next
    size_t slow_ = 0;              // threads with a slow piece
    size_t slow_max_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace pace::kernels
