// result: a value or a failure, as in std::expected, which C++17 lacks.
#pragma once

#include <pace/error.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace pace {

// The result of a call with pace::nothrow: a T or a failure. Move-only values make it move-only.
template <class T>
class [[nodiscard]] result {
  public:
    result(T value) noexcept : has_value_(true) { new (&value_) T(std::move(value)); }
    // A value that is made in its place.
    template <class... Arguments>
    explicit result(std::in_place_t, Arguments&&... arguments) noexcept : has_value_(true) {
        new (&value_) T(std::forward<Arguments>(arguments)...);
    }
    result(const failure& why) noexcept : has_value_(false) { new (&failure_) failure(why); }
    result(result&& other) noexcept : has_value_(other.has_value_) { take(std::move(other)); }
    result& operator=(result&& other) noexcept {
        if (this != &other) {
            end();
            has_value_ = other.has_value_;
            take(std::move(other));
        }
        return *this;
    }
    result& operator=(const failure& why) noexcept {
        end();
        has_value_ = false;
        new (&failure_) failure(why);
        return *this;
    }
    ~result() { end(); }

    // Whether there is a value, and no failure.
    bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value_; }

    // The value. Call it only if there is one.
    T& operator*() & noexcept { return value_; }
    const T& operator*() const& noexcept { return value_; }
    T&& operator*() && noexcept { return std::move(value_); }
    T* operator->() noexcept { return &value_; }
    const T* operator->() const noexcept { return &value_; }

    // The failure. Call it only if there is no value.
    const failure& error() const noexcept { return failure_; }
    // status::ok where there is a value.
    pace::status status() const noexcept {
        return has_value_ ? pace::status::ok : failure_.status();
    }

#if defined(__cpp_exceptions)
    // The value; throws the failure's exception where there is none.
    T value() && {
        if (!has_value_) raise(failure_);
        return std::move(value_);
    }
    T& value() & {
        if (!has_value_) raise(failure_);
        return value_;
    }
#endif

  private:
    void take(result&& other) noexcept {
        if (has_value_)
            new (&value_) T(std::move(other.value_));
        else
            new (&failure_) failure(other.failure_);
    }
    void end() noexcept {
        if (has_value_) value_.~T();
    }

    union {
        T value_;
        failure failure_;
    };
    bool has_value_;
};

// The result of a call that gives no value: success or a failure.
template <>
class [[nodiscard]] result<void> {
  public:
    result() noexcept : has_value_(true) {}
    result(const failure& why) noexcept : has_value_(false) { new (&failure_) failure(why); }
    result(const result& other) noexcept : has_value_(other.has_value_) {
        if (!has_value_) new (&failure_) failure(other.failure_);
    }
    result& operator=(const result& other) noexcept {
        has_value_ = other.has_value_;
        if (!has_value_) new (&failure_) failure(other.failure_);
        return *this;
    }

    // Whether there is a value, and no failure.
    bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value_; }
    const failure& error() const noexcept { return failure_; }
    pace::status status() const noexcept {
        return has_value_ ? pace::status::ok : failure_.status();
    }

#if defined(__cpp_exceptions)
    void value() const {
        if (!has_value_) raise(failure_);
    }
#endif

  private:
    union {
        char nothing_;
        failure failure_;
    };
    bool has_value_;
};

static_assert(std::is_trivially_destructible<failure>::value, "a result ends only its value");

}  // namespace pace
