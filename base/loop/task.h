// Task<T>: a coroutine that starts when it is awaited or spawned. It resumes its awaiter when it
// ends.
//
// Collectives are written as Tasks on one event loop, so that each reads like the pseudo-code of
// its paper. A Task belongs to one thread. A Task must not be destroyed while it is suspended in an
// operation that will resume it. The rule is structured waiting: await everything that was started.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/attempt.h"

namespace pace::base {

template <typename T = void>
class Task;

namespace detail {

struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
        const std::coroutine_handle<> next = handle.promise().continuation;
        return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
};

struct PromiseBase {
    std::coroutine_handle<> continuation;
    std::suspend_always initial_suspend() const noexcept { return {}; }
    FinalAwaiter final_suspend() const noexcept { return {}; }
};

// If a coroutine finds no memory, its Result becomes an error. If the coroutine returns no Result,
// the exception is rethrown in the awaiter. Pace's code throws no other exception: any other one is
// a defect and stops the process.
template <typename T>
struct Promise : PromiseBase {
    std::optional<T> value;
    std::exception_ptr unmet;
    void unhandled_exception() noexcept {
        if (!attempt([] { throw; })) {
            if constexpr (std::is_constructible_v<T, Error>)
                value.emplace(out_of_memory());
            else
                unmet = std::current_exception();
        }
    }
    Task<T> get_return_object();
    template <typename U>
    void return_value(U&& result) {
        value.emplace(std::forward<U>(result));
    }
    T take() {
        if (unmet) std::rethrow_exception(unmet);
        return std::move(*value);
    }
};

template <>
struct Promise<void> : PromiseBase {
    std::exception_ptr unmet;
    void unhandled_exception() noexcept {
        if (!attempt([] { throw; })) unmet = std::current_exception();
    }
    Task<void> get_return_object();
    void return_void() const noexcept {}
    void take() const {
        if (unmet) std::rethrow_exception(unmet);
    }
};

}  // namespace detail

template <typename T>
class [[nodiscard]] Task {
  public:
    using promise_type = detail::Promise<T>;
    using Handle = std::coroutine_handle<promise_type>;

    explicit Task(Handle handle) : handle_(handle) {}
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        if (this != &other) {
            if (handle_) handle_.destroy();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() {
        if (handle_) handle_.destroy();
    }

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
        handle_.promise().continuation = awaiter;
        return handle_;
    }
    T await_resume() { return handle_.promise().take(); }

  private:
    Handle handle_;
};

template <typename T>
Task<T> detail::Promise<T>::get_return_object() {
    return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> detail::Promise<void>::get_return_object() {
    return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

namespace detail {

// A coroutine that starts at once and frees itself when it ends.
struct Detached {
    struct promise_type {
        Detached get_return_object() const noexcept { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        // Nobody awaits the coroutine, so the exception goes to the caller that resumed it.
        [[noreturn]] void unhandled_exception() const { throw; }
    };
};

template <typename T>
Detached run_detached(Task<T> task, std::function<void(T)> done) {
    T result = co_await std::move(task);
    if (done) done(std::move(result));
}

inline Detached run_detached_void(Task<void> task, std::function<void()> done) {
    co_await std::move(task);
    if (done) done();
}

}  // namespace detail

// Starts a Task now. `done` gets the Task's value when the Task ends. The Task frees itself.
template <typename T>
void spawn(Task<T> task, std::function<void(T)> done) {
    detail::run_detached<T>(std::move(task), std::move(done));
}
inline void spawn(Task<void> task, std::function<void()> done = {}) {
    detail::run_detached_void(std::move(task), std::move(done));
}

// OneShot<T>: one coroutine awaits the value and a callback sets it once, in either order.
template <typename T>
class OneShot {
  public:
    OneShot() = default;
    OneShot(const OneShot&) = delete;
    OneShot& operator=(const OneShot&) = delete;

    void set(T value) {
        value_.emplace(std::move(value));
        if (waiter_) std::exchange(waiter_, nullptr).resume();
    }
    bool is_set() const { return value_.has_value(); }

    bool await_ready() const noexcept { return value_.has_value(); }
    void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
    T await_resume() { return std::move(*value_); }

  private:
    std::optional<T> value_;
    std::coroutine_handle<> waiter_;
};

// Counter: a coroutine awaits zero. Call add() before each operation, and done() when the operation
// completes.
class Counter {
  public:
    void add(int count = 1) { pending_ += count; }
    void done() {
        if (--pending_ == 0 && waiter_) std::exchange(waiter_, nullptr).resume();
    }
    int pending() const { return pending_; }

    bool await_ready() const noexcept { return pending_ == 0; }
    void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
    void await_resume() const noexcept {}

  private:
    int pending_ = 0;
    std::coroutine_handle<> waiter_;
};

// Runs all Tasks side by side and ends when the last one has ended. Returns their values in order.
template <typename T>
Task<std::vector<T>> when_all(std::vector<Task<T>> tasks) {
    std::vector<std::optional<T>> values(tasks.size());
    Counter counter;
    counter.add(static_cast<int>(tasks.size()));
    for (size_t i = 0; i < tasks.size(); ++i) {
        spawn<T>(std::move(tasks[i]), [&values, &counter, i](T value) {
            values[i].emplace(std::move(value));
            counter.done();
        });
    }
    co_await counter;
    std::vector<T> results;
    results.reserve(values.size());
    for (auto& value : values) results.push_back(std::move(*value));
    co_return results;
}

}  // namespace pace::base
