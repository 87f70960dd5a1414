// Result<T>: a value, or an Error. An Error says what was wrong, with which value, and what to do
// next.
//
// No exception crosses a folder in Pace. A function that can fail returns Result<T>. The caller
// either handles the Error itself, or passes it up unchanged with PACE_TRY.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace pace::base {

// The kind says who must act, and how. The names are those of the public statuses in capi/pace.h.
enum class ErrorKind : int32_t {
    invalid = 1,    // an argument or option is wrong
    handle,         // a handle is stale, closed or of another session
    verb,           // the verb does not fit the job's family
    mismatch,       // two workers, or a worker and its job, disagree
    not_found,      // the named thing does not exist
    taken,          // the name or rank is in use
    version,        // the other side speaks another protocol version
    unavailable,    // the other side is gone
    no_controller,  // no controller answers
    limit,          // a visible quota is exhausted
    memory,         // no memory, or no shared memory
    disk,           // no space, or an input/output error on a file
    denied,         // not permitted for this user
    timeout,        // a deadline passed
    aborted,        // ended by a failure elsewhere; retrying is right
    canceled,       // ended because the caller asked
    closed,         // the session was closed
    corrupt,        // bytes from outside do not parse
    // A signal arrived while the caller waited, and the caller had asked to be told of signals.
    interrupted,
    internal,  // a defect of Pace
};

// The stable lower-case name of a kind, for logs and messages.
std::string_view error_kind_name(ErrorKind kind);

struct Error {
    ErrorKind kind = ErrorKind::internal;
    std::string message;
    bool operator==(const Error&) const = default;
};

// Makes an Error with a formatted message: make_error(ErrorKind::invalid, "alpha is {}; …", alpha).
template <typename... Args>
Error make_error(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
    return Error{kind, fmt::format(format, std::forward<Args>(args)...)};
}

// Makes an Error from errno, as "WHAT: strerror". ENOSPC, ENOMEM, EACCES and similar numbers get
// their own kinds.
Error make_errno_error(int error_number, std::string_view what);

template <typename T = void>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & { return *std::get_if<0>(&state_); }
    const T& value() const& { return *std::get_if<0>(&state_); }
    T&& value() && { return std::move(*std::get_if<0>(&state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    Error& error() & { return *std::get_if<1>(&state_); }
    const Error& error() const& { return *std::get_if<1>(&state_); }
    Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

  private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)), failed_(true) {}

    bool ok() const { return !failed_; }
    explicit operator bool() const { return ok(); }

    Error& error() & { return error_; }
    const Error& error() const& { return error_; }
    Error&& error() && { return std::move(error_); }

  private:
    Error error_;
    bool failed_ = false;
};

}  // namespace pace::base

// Returns the Error of a Result<void> expression from the enclosing function.
#define PACE_TRY(expression)                                       \
    do {                                                           \
        if (auto pace_try_result = (expression); !pace_try_result) \
            return std::move(pace_try_result).error();             \
    } while (false)

// Declares `name` with the value of a Result<T> expression, or returns its Error.
#define PACE_TRY_ASSIGN(name, expression)                        \
    auto name##_result = (expression);                           \
    if (!name##_result) return std::move(name##_result).error(); \
    auto& name = *name##_result
