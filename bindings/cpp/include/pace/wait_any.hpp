// wait_any: the first of several requests that ends, of one session or of several.
#pragma once

#include <pace/request.hpp>

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace pace {

// Which request has ended, and how.
struct ended {
    std::size_t index;         // in the list
    result<request_info> end;  // what request::wait() gives
};

namespace detail {

// The first that has ended. Nothing while all are in flight or collected.
inline bool look(span<request> requests, std::size_t& index, result<request_info>& end) noexcept {
    for (index = 0; index < requests.size(); ++index) {
        if (!requests[index]) continue;
        end = requests[index].test(nothrow);
        if (end || end.error().has_ended() || end.status() != status::pending) return true;
    }
    return false;
}

// Waits until a descriptor of the requests' sessions is readable, `time` at most. False if there is nothing to wait with.
inline bool poll_sessions(span<request> requests, std::chrono::milliseconds time,
                          pace_error& error) noexcept {
    constexpr std::size_t sessions_max = 64;
    pollfd polled[sessions_max] = {};
    nfds_t count = 0;
    for (request& one : requests) {
        if (!one) continue;
        int descriptor = -1;
        if (pace_session_get_fd(one.session(), &descriptor, &error) != PACE_OK) return false;
        nfds_t known = 0;
        while (known < count && polled[known].fd != descriptor) ++known;
        if (known < count) continue;
        if (count == sessions_max) {
            error = new_error(status::invalid, "requests: they are of more than 64 sessions");
            return false;
        }
        polled[count].fd = descriptor;
        polled[count++].events = POLLIN;
    }
    if (count == 0) {
        error = new_error(status::not_found, "requests: none of them is in flight");
        return false;
    }
    ::poll(polled, count, static_cast<int>(time.count()));
    return true;
}

inline result<ended> wait_any(span<request> requests, bool has_end,
                              std::chrono::steady_clock::time_point last) noexcept {
    using std::chrono::milliseconds;
    constexpr milliseconds longest = std::chrono::minutes(1);
    constexpr milliseconds other(10);
    while (true) {
        std::size_t index = 0;
        result<request_info> end = request_info();
        pace_error error;
        const auto before = std::chrono::steady_clock::now();
        if (look(requests, index, end)) return ended{index, std::move(end)};
        milliseconds left = longest;
        if (has_end && last - before < left)
            left = std::chrono::duration_cast<milliseconds>(last - before) + milliseconds(1);
        if (has_end && before >= last)
            return failure(new_error(status::timeout, "no request has ended in the time given"));
        if (!poll_sessions(requests, left, error)) return failure(error);
        if (look(requests, index, end)) return ended{index, std::move(end)};
        // A descriptor may be readable for a request that is not of the list. Then it tells nothing of these.
        if (std::chrono::steady_clock::now() - before >= std::min(left, other)) continue;
        for (index = 0; !requests[index];) ++index;
        end = requests[index].wait_for(nothrow, other);
        if (end || end.status() != status::timeout) return ended{index, std::move(end)};
    }
}

}  // namespace detail

// Waits until one of the requests has ended, and collects that one; the others stay as they are. Empty and collected ones are
// passed over; one that session::next() has collected ends with handle. Best where all requests of the sessions are in the list:
// while another has ended and is not collected, it looks a hundred times a second. Fails with: not_found (none is in flight),
// limit, closed. Threads: nobody else uses these requests meanwhile. Blocks: until one has ended.
inline result<ended> wait_any(nothrow_t, span<request> requests) noexcept {
    return detail::wait_any(requests, false, {});
}

// As wait_any(), for so long at most. Fails also with: timeout.
inline result<ended> wait_any_for(nothrow_t, span<request> requests,
                                  std::chrono::milliseconds time) noexcept {
    constexpr std::chrono::milliseconds century = std::chrono::hours(24 * 36525);
    const auto last = std::chrono::steady_clock::now() + std::min(time, century);
    return detail::wait_any(requests, true, last);
}

#if defined(__cpp_exceptions)
inline ended wait_any(span<request> requests) {
    return wait_any(nothrow, requests).value();
}
// Nothing when the time has passed.
[[nodiscard]] inline std::optional<ended> wait_any_for(span<request> requests,
                                                       std::chrono::milliseconds time) {
    result<ended> found = wait_any_for(nothrow, requests, time);
    if (found.status() == status::timeout) return std::nullopt;
    return std::move(found).value();
}
#endif

}  // namespace pace
