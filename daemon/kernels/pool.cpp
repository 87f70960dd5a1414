#include "daemon/kernels/pool.h"

#include <sched.h>

#include <algorithm>
#include <cfenv>
#include <cstdint>
#include <utility>

#include "base/attempt.h"
#include "base/threads/begin_thread.h"

namespace pace::kernels {

namespace {

constexpr size_t kAllPieces = SIZE_MAX;
// The number of pieces of one job before a thread checks whether other jobs wait. The number is a
// guess. The cost of a lock vanishes beside so many pieces.
constexpr size_t kPiecesPerTurn = 16;

}  // namespace

// A job is shared by the threads that work on it. The last reference frees it. `next` hands out
// pieces. `left` counts unfinished bytes. The thread that brings `left` to zero ends the job.
struct WorkerPool::Job {
    size_t size;
    size_t grain;
    Pieces pieces;
    const Work* work;  // the caller's (parallel_for) or own_work (submit)
    std::atomic<size_t> next{0};
    std::atomic<size_t> left{0};

    Work own_work;
    Post post;
    Callback on_done;

    std::mutex mutex;
    base::Condition ended;
    bool has_ended = false;
    std::atomic<bool> out_of_memory{false};

    Job(size_t job_size, size_t job_grain, Pieces job_pieces)
        : size(job_size), grain(job_grain), pieces(job_pieces), work(nullptr), left(job_size) {}

    bool claimed() const { return next.load(std::memory_order_relaxed) >= size; }
    bool is_slow() const { return pieces == Pieces::slow; }

    // Works until no piece is left to claim, or `pieces_max` are done. Returns true if this call
    // finished the job's last piece.
    bool run(size_t pieces_max) {
        bool last = false;
        for (size_t done = 0; done < pieces_max; ++done) {
            const size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
            if (begin >= size) return last;
            const size_t end = std::min(size, begin + grain);
            if (!base::attempt([&] { (*work)(begin, end); })) out_of_memory = true;
            const size_t worked = end - begin;
            last = left.fetch_sub(worked, std::memory_order_acq_rel) == worked;
        }
        return last;
    }

    void finish() {
        if (on_done) {
            // The callback may free objects that `own_work` refers to. So `own_work` is dropped
            // first.
            own_work = nullptr;
            if (out_of_memory) on_done = [] { throw std::bad_alloc(); };
            post(std::exchange(on_done, nullptr));
            return;
        }
        const std::lock_guard lock(mutex);
        has_ended = true;
        ended.notify_all();
    }

    void await() {
        std::unique_lock lock(mutex);
        ended.wait(lock, [this] { return has_ended; });
    }
};

size_t WorkerPool::default_threads() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 2;
    return static_cast<size_t>(std::max(2, CPU_COUNT(&set)));
}

WorkerPool::WorkerPool(size_t threads) : slow_max_(threads > 1 ? threads - 1 : 1) {
    threads_.reserve(threads);
    const auto begin_one = [this] {
        threads_.push_back(base::begin_thread([this] { thread_main(); }));
    };
    // With fewer threads the same work is done.
    while (threads_.size() < threads && base::attempt(begin_one)) {
    }
}

void WorkerPool::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
}

void WorkerPool::parallel_for(size_t size, size_t grain, const Work& work) {
    if (size == 0) return;
    if (threads_.empty() || size <= grain) {
        for (size_t begin = 0; begin < size; begin += grain)
            work(begin, std::min(size, begin + grain));
        return;
    }
    const auto job = std::make_shared<Job>(size, grain, Pieces::quick);
    job->work = &work;
    // The caller counts as one of the threads. There are as many threads as processors.
    const size_t helpers = std::min((size - 1) / grain, threads_.size() - 1);
    if (helpers > 0) enqueue(job, helpers);
    if (!job->run(kAllPieces)) job->await();
    if (job->out_of_memory) throw std::bad_alloc();
}

void WorkerPool::submit(size_t size, size_t grain, Work work, Post post, Callback on_done,
                        Pieces pieces) {
    const auto job = std::make_shared<Job>(size, grain, pieces);
    job->own_work = std::move(work);
    job->work = &job->own_work;
    job->post = std::move(post);
    job->on_done = std::move(on_done);
    if (size == 0) return job->finish();
    if (threads_.empty()) {
        if (job->run(kAllPieces)) job->finish();
        return;
    }
    enqueue(job, (size - 1) / grain + 1);
}

void WorkerPool::enqueue(const JobPointer& job, size_t helpers) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(job);
    }
    if (helpers >= threads_.size()) {
        wake_.notify_all();
        return;
    }
    for (size_t i = 0; i < helpers; ++i) wake_.notify_one();
}

bool WorkerPool::may_begin(const Job& job) const {
    return !job.is_slow() || slow_ < slow_max_;
}

// Returns the job whose turn it is among those with unclaimed pieces. Returns null when the pool
// ends. The caller must not hold mutex_. A caller that gets a slow job must call slow_piece_ended()
// after its piece.
WorkerPool::JobPointer WorkerPool::next_job() {
    std::unique_lock lock(mutex_);
    for (;;) {
        std::erase_if(jobs_, [](const JobPointer& job) { return job->claimed(); });
        const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                        [this](const JobPointer& job) { return may_begin(*job); });
        if (found != jobs_.end()) {
            JobPointer next = std::move(*found);
            jobs_.erase(found);
            jobs_.push_back(next);
            if (next->is_slow()) ++slow_;
            return next;
        }
        if (stopping_ && jobs_.empty()) return nullptr;
        wake_.wait(lock);
    }
}

void WorkerPool::slow_piece_ended() {
    {
        const std::lock_guard lock(mutex_);
        --slow_;
    }
    wake_.notify_all();
}

void WorkerPool::thread_main() {
    std::fesetenv(FE_DFL_ENV);
    while (const JobPointer job = next_job()) {
        const bool is_last = job->run(job->is_slow() ? 1 : kPiecesPerTurn);
        if (job->is_slow()) slow_piece_ended();
        if (is_last) job->finish();
    }
}

}  // namespace pace::kernels
