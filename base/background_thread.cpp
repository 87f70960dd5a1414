#include "base/background_thread.h"

#include <utility>

#include "base/attempt.h"
#include "base/begin_thread.h"

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
    // First the thread: where there is none, nothing waits.
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
        // Whoever waits for it says what then becomes of it (base/attempt.h).
        (void)attempt(work);
        work = nullptr;  // what it holds may take long to let go
        lock.lock();
    }
}

}  // namespace pace::base
