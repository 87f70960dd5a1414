// Condition: std::condition_variable without one of its functions, wait(). That function needs a
// newer libstdc++ (GLIBCXX_3.4.30, GCC 12) than Enterprise Linux 9 has.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace pace::base {

class Condition {
  public:
    void notify_one() { condition_.notify_one(); }
    void notify_all() { condition_.notify_all(); }

    // All waiting threads use the same mutex, and `lock` holds it. May return without a
    // notification.
    void wait(std::unique_lock<std::mutex>& lock) {
        pthread_cond_wait(condition_.native_handle(), lock.mutex()->native_handle());
    }
    template <typename Predicate>
    void wait(std::unique_lock<std::mutex>& lock, Predicate predicate) {
        while (!predicate()) wait(lock);
    }

    template <typename... Arguments>
    auto wait_until(std::unique_lock<std::mutex>& lock, Arguments&&... arguments) {
        return condition_.wait_until(lock, std::forward<Arguments>(arguments)...);
    }
    template <typename... Arguments>
    auto wait_for(std::unique_lock<std::mutex>& lock, Arguments&&... arguments) {
        return condition_.wait_for(lock, std::forward<Arguments>(arguments)...);
    }

  private:
    std::condition_variable condition_;
};

}  // namespace pace::base
