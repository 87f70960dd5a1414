#include "base/threads/background_thread.h"

#include <utility>

#include "base/attempt.h"
#include "base/threads/begin_thread.h"

namespace pace::base {

BackgroundThread::~BackgroundThread() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void BackgroundThread::run(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    // Begin the thread first: if it cannot begin, no work is left in the queue.
    if (!thread_.joinable()) thread_ = begin_thread([this] { work_off(); });
    waiting_.push_back(std::move(work));
    changed_.notify_one();
}

void BackgroundThread::work_off() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_) return;
        std::function<void()> work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        // The waiter for the result reports a failure (base/attempt.h).
        (void)attempt(work);
        // Release what the work holds before locking: the release may take long.
        work = nullptr;
        lock.lock();
    }
}

}  // namespace pace::base
