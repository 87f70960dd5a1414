// BackgroundThread: work that blocks, for the disk say, one piece after the other, off the event loop.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace pace::base {

class BackgroundThread {
  public:
    BackgroundThread() = default;
    // Waits for the piece at hand. What has not begun is dropped.
    ~BackgroundThread();
    BackgroundThread(const BackgroundThread&) = delete;
    BackgroundThread& operator=(const BackgroundThread&) = delete;

    // Threads: any. Blocks: no. The thread begins with the first piece.
    void run(std::function<void()> work);

  private:
    void work_off();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace pace::base
