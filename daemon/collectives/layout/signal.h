// Signal: lets coroutines wait for a change of shared state. Wake-ups may be spurious, so waiters
// check the state in a loop.
#pragma once

#include <coroutine>
#include <utility>
#include <vector>

namespace pace::collectives {

class Signal {
  public:
    class Awaiter {
      public:
        explicit Awaiter(Signal* signal) : signal_(signal) {}
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> waiter) { signal_->waiters_.push_back(waiter); }
        void await_resume() const noexcept {}

      private:
        Signal* signal_;
    };

    Signal() = default;
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    // `co_await signal.changed()` ends at the next notify().
    Awaiter changed() { return Awaiter(this); }

    // Resumes all current waiters. The caller must be one of the coroutines that keep the Signal
    // alive. The woken coroutines may end, but the whole collective must not end.
    void notify() {
        std::vector<std::coroutine_handle<>> woken = std::exchange(waiters_, std::move(spare_));
        for (const std::coroutine_handle<> waiter : woken) waiter.resume();
        woken.clear();
        spare_ = std::move(woken);
    }

  private:
    std::vector<std::coroutine_handle<>> waiters_;
    std::vector<std::coroutine_handle<>> spare_;  // keeps its capacity between notifications
};

}  // namespace pace::collectives
