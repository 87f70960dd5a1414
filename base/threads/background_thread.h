// BackgroundThread: runs blocking work, for example disk access, in another thread than the event
// loop. The pieces of work run one after another.
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
    virtual ~BackgroundThread();
    BackgroundThread(const BackgroundThread&) = delete;
    BackgroundThread& operator=(const BackgroundThread&) = delete;

    // Threads: any. Blocks: no. The thread begins with the first piece. A piece for which there is
    // no memory ends there. Throws std::bad_alloc, and the piece is not done, where there is no
    // memory to keep it or no thread to do it.
    virtual void run(std::function<void()> work);

  private:
    void work_off();

    std::mutex mutex_;
    Condition changed_;
    std::deque<std::function<void()>> waiting_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace pace::base
