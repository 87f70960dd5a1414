// failure: why a call failed, or what a request ended with, as a value; and the tag that asks for
// values instead of exceptions.
#pragma once

#include <pace/info.hpp>

namespace pace {

// The first argument of every call that returns a result<T> and throws nothing:
// session.average(pace::nothrow, model).
struct nothrow_t {
    explicit nothrow_t() = default;
};
inline constexpr nothrow_t nothrow{};

// The contents of a pace_error, and the end of the request if one has ended. Trivially copyable;
// owns nothing.
class failure {
  public:
    explicit failure(const pace_error& error) noexcept : error_(error) {}
    failure(const pace_error& error, const request_info& info) noexcept
        : error_(error), info_(info) {}

    // The status that the call gave, or that the request ended with.
    pace::status status() const noexcept { return static_cast<pace::status>(error_.status); }
    // What was wrong, with which value, and what to do: one sentence or two, zero-terminated,
    // UTF-8.
    const char* message() const noexcept { return error_.message; }
    // The argument, field or option that is wrong: "topk.density"; or "".
    const char* argument() const noexcept { return error_.argument; }
    // Whether a request has ended this way. Otherwise the call itself failed, and a request for
    // which it waited is still in flight.
    bool has_ended() const noexcept { return info_.status != PACE_PENDING; }
    // How the request ended. Its status is PACE_PENDING where none has.
    const request_info& info() const noexcept { return info_; }

  private:
    pace_error error_;
    request_info info_;
};

namespace detail {

inline pace_error new_error(status which, const char* message) noexcept {
    pace_error error;
    error.status = static_cast<pace_status>(which);
    for (std::uint32_t& word : error.reserved) word = 0;
    error.argument[0] = '\0';
    std::size_t length = 0;
    for (; message[length] != '\0' && length + 1 < sizeof(error.message); ++length)
        error.message[length] = message[length];
    error.message[length] = '\0';
    return error;
}

inline pace_error no_memory() noexcept {
    return new_error(status::memory, "this process has no memory left; free some and call again");
}

}  // namespace detail
}  // namespace pace
