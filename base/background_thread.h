// BackgroundThread: work that blocks, for the disk say, one piece after the other, off the event loop.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/condition.h"

namespace pace::base {

class BackgroundThread {
  public:
    BackgroundThread() = default;
    // Waits for the piece at hand. What has not begun is dropped.
    ~BackgroundThread();
    BackgroundThread(const BackgroundThread&) = delete;
    BackgroundThread& operator=(const BackgroundThread&) = delete;

    // Threads: any. Blocks: no. The thread begins with the first piece. A piece for which there is no memory ends there. Throws
    // std::bad_alloc, and the piece is not done, where there is no memory to keep it or no thread to do it.
    void run(std::function<void()> work);

  private:
    void work_off();

    std::mutex mutex_;
    Condition changed_;
    std::deque<std::function<void()>> waiting_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace pace::base
