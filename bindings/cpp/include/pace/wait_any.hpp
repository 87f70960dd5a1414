// wait_any: the first of several requests that ends, of one session or of several.
#pragma once

#include <pace/request.hpp>

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

// Waits until a descriptor of the requests' sessions is readable, `time` at most. False if there is
// nothing to wait with.
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

// The requests of a list that are not collected. A session has 64 at most.
class several {
  public:
    explicit several(span<request> requests) noexcept : requests_(requests) {
        for (request& one : requests) {
            if (!one) continue;
            are_of_one_session_ = count_ < max && (count_ == 0 || one.session() == session_);
            if (!are_of_one_session_) return;
            session_ = one.session();
            raw_[count_++] = one.raw();
        }
    }
    bool are_of_one_session() const noexcept { return are_of_one_session_; }

    // The first to end, if all are of one session. Collects it.
    result<ended> wait(std::int64_t timeout_ms) noexcept {
        ended found{0, request_info()};
        pace_request raw = {0, 0};
        pace_error error;
        const pace_status outcome = pace_request_wait_any(session_, raw_, count_, timeout_ms,
                                                          nullptr, &raw, &*found.end, &error);
        // A look finds a request that session::next() has collected.
        if (outcome == PACE_E_HANDLE && look(requests_, found.index, found.end)) return found;
        const request_info info = *found.end;
        if (info.status == PACE_PENDING) return failure(error);
        while (!requests_[found.index] || requests_[found.index].raw().id != raw.id) ++found.index;
        requests_[found.index].settle(outcome, info);
        if (outcome != PACE_OK) found.end = failure(error, info);
        return found;
    }

  private:
    static constexpr std::size_t max = 64;

    span<request> requests_;
    pace_session* session_ = nullptr;
    pace_request raw_[max] = {};
    std::size_t count_ = 0;
    bool are_of_one_session_ = false;
};

// For requests of several sessions: waits on the sessions' descriptors.
inline result<ended> wait_any_by_poll(span<request> requests, bool has_end,
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
        // A descriptor may be readable for a request that is not in the list. It then tells nothing
        // about those in the list.
        if (std::chrono::steady_clock::now() - before >= std::min(left, other)) continue;
        for (index = 0; !requests[index];) ++index;
        end = requests[index].wait_for(nothrow, other);
        if (end || end.status() != status::timeout) return ended{index, std::move(end)};
    }
}

}  // namespace detail

// Waits until one of the requests has ended, and collects that one; the others stay as they are.
// Empty and collected ones are passed over; one that session::next() has collected ends with
// handle. If the requests are of several sessions, and these sessions have other requests that have
// ended and are not collected, the call looks a hundred times a second. Fails with: not_found (none
// is in flight), limit, closed. Threads: nobody else uses these requests meanwhile. Blocks: until
// one has ended.
inline result<ended> wait_any(nothrow_t, span<request> requests) noexcept {
    detail::several wanted(requests);
    if (wanted.are_of_one_session()) return wanted.wait(PACE_FOREVER);
    return detail::wait_any_by_poll(requests, false, {});
}

// As wait_any(), for so long at most. Fails also with: timeout.
inline result<ended> wait_any_for(nothrow_t, span<request> requests,
                                  std::chrono::milliseconds time) noexcept {
    constexpr std::chrono::milliseconds century = std::chrono::hours(24 * 36525);
    time = std::min(time, century);
    detail::several wanted(requests);
    if (wanted.are_of_one_session()) return wanted.wait(detail::milliseconds_of(time));
    return detail::wait_any_by_poll(requests, true, std::chrono::steady_clock::now() + time);
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
