// Signal: coroutines wait for a change of shared state and look again. Waiters may be woken without
// cause: they wait in a loop.
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

    // Resumes all who wait now. Whoever calls is one of the coroutines that keep the Signal alive:
    // the woken may end, but not the whole.
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
