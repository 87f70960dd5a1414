// WorkerPool: the daemon's arithmetic threads. A job is a range that is cut into pieces, which
// threads claim one by one, so that a thread that the scheduler took away delays one piece and not
// a fixed share.
//
// Pieces cost no allocation and no lock: one atomic addition each. Idle threads sleep on a
// condition variable; they do not spin, because trainers need the processors. Every worker thread
// has the default floating-point environment.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace pace::kernels {

class WorkerPool {
  public:
    // Work on [begin, end) of a job's range. Called from several threads at once, never with
    // overlapping ranges.
    using Work = std::function<void(size_t begin, size_t end)>;
    using Callback = std::function<void()>;
    // Hands a callback to the thread that wants it, e.g. [&](auto f) { loop.post(std::move(f)); }.
    using Post = std::function<void(Callback)>;

    // `threads` = 0: everything runs in the calling thread.
    explicit WorkerPool(size_t threads = default_threads());
    // Finishes what was submitted, then ends the threads. Callbacks are posted before it returns.
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    size_t threads() const { return threads_.size(); }

    // One per processor that this process may use.
    static size_t default_threads();

    // Runs `work` over [0, size) in pieces of `grain` (the last may be shorter) and returns when
    // all are done. The caller works too. `grain` > 0. Any thread, also a worker's own.
    void parallel_for(size_t size, size_t grain, const Work& work);

    // Starts the same and returns; when all pieces are done, `post(on_done)` is called once, from
    // the thread that finished the last piece. With 0 threads the work is done before submit
    // returns, the callback posted all the same. What `work` refers to must live until `on_done`
    // runs.
    void submit(size_t size, size_t grain, Work work, Post post, Callback on_done);

  private:
    struct Job;
    using JobPointer = std::shared_ptr<Job>;

    void thread_main();
    void enqueue(const JobPointer& job, size_t helpers);
    JobPointer next_job();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<JobPointer> jobs_;  // those with pieces left to claim, oldest first
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace pace::kernels
