// Wake: one coroutine waits until something may have changed, and then looks again. Unlike a
// collectives::Signal, a Wake may be destroyed by the coroutine that it wakes.
#pragma once

#include <coroutine>
#include <utility>

namespace pace::partial {

class Wake {
  public:
    class Awaiter {
      public:
        explicit Awaiter(Wake* wake) : wake_(wake) {}
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> waiter) noexcept { wake_->waiter_ = waiter; }
        void await_resume() const noexcept {}

      private:
        Wake* wake_;
    };

    Wake() = default;
    Wake(const Wake&) = delete;
    Wake& operator=(const Wake&) = delete;

    // `co_await wake.notified()` ends at the next notify().
    Awaiter notified() { return Awaiter(this); }

    // Must be the last action of a function: the woken coroutine may end and destroy everything
    // that belongs to it.
    void notify() {
        if (waiter_) std::exchange(waiter_, nullptr).resume();
    }

  private:
    std::coroutine_handle<> waiter_;
};

}  // namespace pace::partial
