// WorkerPool: the daemon's arithmetic threads. A job is a range cut into pieces. Threads claim the
// pieces one by one, so that a preempted thread delays one piece and not a fixed share.
//
// Jobs take turns, some pieces each, so that a small job does not wait for a large one's end.
// Pieces of work that cannot be cut may take seconds. They always leave one thread to other jobs.
//
// A piece costs no allocation and no lock, only one atomic addition. Idle threads sleep on a
// condition variable instead of spinning, because trainers need the processors. Every worker thread
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
    // Works on [begin, end) of a job's range. The function is called in several threads at once,
    // never with overlapping ranges.
    using Work = std::function<void(size_t begin, size_t end)>;
    using Callback = std::function<void()>;
    // Posts a callback to the thread that wants it, as EventLoop::poster() does.
    using Post = std::function<void(Callback)>;

    // How long a piece of a job takes.
    enum class Pieces {
        quick,  // a fraction of a millisecond
        // Perhaps seconds. If there are two threads or more, one of them takes no slow pieces.
        slow,
    };

    // `threads` = 0 means that everything runs in the calling thread. The pool uses fewer threads
    // if not all can be started.
    explicit WorkerPool(size_t threads = default_threads());
    ~WorkerPool() { stop(); }
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    // Finishes the submitted work, then ends the threads. All callbacks are posted before this
    // function returns. Later work runs in the calling thread. Must not be called in a worker's
    // thread.
    void stop();

    size_t threads() const { return threads_.size(); }

    // Returns one thread per processor that this process may use, but at least two.
    static size_t default_threads();

    // Runs `work` over [0, size) in pieces of `grain`. The last piece may be shorter. Returns when
    // all pieces are done. The calling thread works too. `grain` must be greater than 0. Any thread
    // may call this function, even a worker's. If `work` runs out of memory, the function throws
    // std::bad_alloc once all pieces have ended.
    void parallel_for(size_t size, size_t grain, const Work& work);

    // Starts the same work and returns. When all pieces are done, the thread that finished the last
    // piece calls `post(on_done)` once. With 0 threads the work is done before submit returns, but
    // the callback is posted all the same. Objects that `work` refers to must live until `on_done`
    // runs. If `work` runs out of memory, std::bad_alloc is thrown in the callback's thread instead
    // of the callback.
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
    // Jobs with unclaimed pieces, in the order of their turns.
    std::deque<JobPointer> jobs_;
    // The number of threads with a slow piece.
    size_t slow_ = 0;
    size_t slow_max_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace pace::kernels
