// request: a verb in flight, as a future of its end.
#pragma once

#include <pace/operands.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace pace {

// How a request is waited for.
struct wait_options {
    // For an average with keep_local: the iteration that the worker has reached by now; 0: no step
    // since the call.
    std::uint64_t local_iteration = 0;
    // Room that is filled with the exchange's members, by rank; request_info::member_listed tells
    // how many.
    span<member> members = {};
    // Who waits for a result on a GPU: by default this thread; with device::cuda(n), `stream` of
    // that GPU. See pace_wait_options.
    device where = {};
    void* stream = nullptr;
    // The wait ends as interrupted when this thread has handled a signal, and twice a second
    // besides.
    bool signals = false;
};

namespace detail {

class several;

inline pace_wait_options raw_of(const wait_options& how) noexcept {
    pace_wait_options raw = PACE_WAIT_OPTIONS_INIT;
    raw.flags = how.signals ? static_cast<std::uint32_t>(PACE_WAIT_SIGNALS) : 0U;
    raw.device = how.where;
    raw.stream = how.stream;
    raw.local_iteration = how.local_iteration;
    raw.members = how.members.data();
    raw.member_capacity = how.members.size();
    return raw;
}

// A time for pace.h: whole milliseconds, rounded up. A negative time counts as 0, a time above
// three million centuries as PACE_FOREVER.
template <class Rep, class Period>
std::int64_t milliseconds_of(std::chrono::duration<Rep, Period> time) noexcept {
    const std::chrono::duration<double, std::milli> real = time;
    if (!(real.count() > 0)) return 0;
    if (real.count() > 9e15) return PACE_FOREVER;
    const auto whole = static_cast<std::int64_t>(real.count());
    return static_cast<double>(whole) < real.count() ? whole + 1 : whole;
}

}  // namespace detail

// A verb that has begun, and ends exactly once, also when the daemon dies. Move-only. The first
// wait(), wait_for() or test() that finds the end collects it. Keeps the session, and the memory
// that it names, until it is destroyed or assigned to.
//
// The destructor cancels a request that has not been collected and waits until it has ended, so
// that its buffers are free afterwards. An assignment to the object does the same. A request that
// is not in an exchange yet ends at once. Otherwise the wait lasts until the exchange has ended,
// for which the other members must have called or be found dead. release() lets go of the request
// without waiting.
//
// Threads: one object by one thread at a time; but cancel() and ready() also while another thread
// waits.
class request {
  public:
    request() noexcept = default;
    request(request&& other) noexcept
        : keeper_(std::move(other.keeper_)),
          session_(other.session_),
          raw_(other.raw_),
          is_collected_(std::exchange(other.is_collected_, true)) {}
    request& operator=(request&& other) noexcept {
        if (this == &other) return *this;
        end();
        keeper_ = std::move(other.keeper_);
        session_ = other.session_;
        raw_ = other.raw_;
        is_collected_ = std::exchange(other.is_collected_, true);
        return *this;
    }
    ~request() { end(); }

    // Whether there is a request that this object has not collected.
    explicit operator bool() const noexcept { return !is_collected_; }

    // Waits for the end and collects it. Blocks: until then. Fails with: aborted, canceled, stale
    // or a fault, which the request ended with (failure::has_ended()); with interrupted where
    // how.signals is set; with handle once it is collected.
    result<request_info> wait(nothrow_t) noexcept { return collected(PACE_FOREVER, nullptr); }
    result<request_info> wait(nothrow_t, const wait_options& how) noexcept {
        const pace_wait_options raw = detail::raw_of(how);
        return collected(PACE_FOREVER, &raw);
    }

    // As wait(), for so long at most. Fails also with: timeout, whose message says for whom a long
    // request waits.
    template <class Rep, class Period>
    result<request_info> wait_for(nothrow_t, std::chrono::duration<Rep, Period> time,
                                  const wait_options& how = {}) noexcept {
        const pace_wait_options raw = detail::raw_of(how);
        return collected(detail::milliseconds_of(time), &raw);
    }

    // Makes how.stream of the GPU how.where wait for the end, and not this thread. The stream goes
    // on whatever the end is, also when the daemon dies: look at the end before you use what was
    // made of the buffers. Collects a request that has ended. Blocks: only where streams cannot
    // wait so long (PACE_WAIT_QUEUED). Fails as wait(), and with: pending, when the stream waits
    // and the request is in flight; collect it later.
    result<request_info> queue_wait(nothrow_t, const wait_options& how) noexcept {
        pace_wait_options raw = detail::raw_of(how);
        raw.flags |= static_cast<std::uint32_t>(PACE_WAIT_QUEUED);
        return collected(PACE_FOREVER, &raw);
    }

    // Looks whether the request has ended, and collects it then. Blocks: only to copy staged
    // memory, or to add an average with keep_local. Fails as wait(), and with: pending, while it is
    // in flight.
    result<request_info> test(nothrow_t, const wait_options& how = {}) noexcept {
        const pace_wait_options raw = detail::raw_of(how);
        result<request_info> end{std::in_place};
        pace_error error;
        const pace_status outcome = pace_request_test(session(), raw_, &raw, &*end, &error);
        settle(outcome, *end);
        if (outcome != PACE_OK) end = failure(error, *end);
        return end;
    }

    // Asks that the request end as canceled. A request that is in an exchange ends in the ordinary
    // way: wait for it in either case. A request that has ended is left alone. Blocks: no. Fails
    // with: daemon_gone, limit (the daemon does not read: try again).
    result<void> cancel(nothrow_t) const noexcept {
        pace_error error;
        const pace_status outcome = pace_request_cancel(session(), raw_, &error);
        if (outcome != PACE_OK && outcome != PACE_E_HANDLE) return failure(error);
        return {};
    }

    // For an average with an order: the first, or last, `elements` are ready and will not be
    // written again. Blocks: no. Fails with: invalid, handle, limit (the daemon has not taken the
    // last 64 calls yet: say it again).
    result<void> ready(nothrow_t, std::uint64_t elements) const noexcept {
        pace_error error;
        if (pace_request_ready(session(), raw_, elements, &error) != PACE_OK) return failure(error);
        return {};
    }

#if defined(__cpp_exceptions)
    request_info wait() {
        request_info info;
        pace_error error;
        if (collect(PACE_FOREVER, nullptr, info, error) != PACE_OK) detail::raise(error, info);
        return info;
    }
    request_info wait(const wait_options& how) { return wait(nothrow, how).value(); }
    // Nothing when the time has passed; the request is then still in flight.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<request_info> wait_for(std::chrono::duration<Rep, Period> time,
                                                       const wait_options& how = {}) {
        return value_unless(status::timeout, wait_for(nothrow, time, how));
    }
    // Nothing when the stream waits; the request is then in flight.
    std::optional<request_info> queue_wait(const wait_options& how) {
        return value_unless(status::pending, queue_wait(nothrow, how));
    }
    // Nothing while the request is in flight.
    [[nodiscard]] std::optional<request_info> test(const wait_options& how = {}) {
        return value_unless(status::pending, test(nothrow, how));
    }
    void cancel() const { cancel(nothrow).value(); }
    void ready(std::uint64_t elements) const { ready(nothrow, elements).value(); }
#endif

    // The handle of pace.h, which completions are compared with.
    pace_request raw() const noexcept { return raw_; }
    // The session of pace.h; null where there is none.
    pace_session* session() const noexcept {
        return session_ != nullptr ? session_->raw() : nullptr;
    }

    // Lets go of the request, which stays in flight until session::next() collects it or the
    // session is freed. Buffers that it names are not freed before then, and memory of the
    // trainer's own must stay. Gives the handle of pace.h.
    pace_request release() noexcept {
        is_collected_ = true;
        session_ = nullptr;
        keeper_ = detail::reference<detail::counted>();
        return raw_;
    }

  private:
    friend class verbs;
    friend class detail::several;

    pace_status collect(std::int64_t timeout_ms, const pace_wait_options* how, request_info& info,
                        pace_error& error) noexcept {
        const pace_status outcome =
            pace_request_wait(session(), raw_, timeout_ms, how, &info, &error);
        settle(outcome, info);
        return outcome;
    }
    void settle(pace_status outcome, const request_info& info) noexcept {
        if (info.status != PACE_PENDING || outcome == PACE_E_HANDLE) is_collected_ = true;
    }
    result<request_info> collected(std::int64_t timeout_ms, const pace_wait_options* how) noexcept {
        result<request_info> end{std::in_place};
        pace_error error;
        if (collect(timeout_ms, how, *end, error) != PACE_OK) end = failure(error, *end);
        return end;
    }
#if defined(__cpp_exceptions)
    static std::optional<request_info> value_unless(pace::status none, result<request_info> end) {
        if (end.status() == none && !end.error().has_ended()) return std::nullopt;
        return std::move(end).value();
    }
#endif
    void end() noexcept {
        if (!is_collected_) cancel_and_wait();
    }

    // A daemon that does not read is asked again every tenth of a second.
    [[gnu::cold, gnu::noinline]] void cancel_and_wait() noexcept {
        constexpr std::int64_t again_ms = 100;
        pace_status outcome = PACE_TIMEOUT;
        while (outcome == PACE_TIMEOUT && !is_collected_) {
            const bool is_asked = pace_request_cancel(session(), raw_, nullptr) != PACE_E_LIMIT;
            request_info info;
            pace_error error;
            outcome = collect(is_asked ? PACE_FOREVER : again_ms, nullptr, info, error);
        }
        is_collected_ = true;  // or the session is over
    }

    detail::reference<detail::counted> keeper_;  // keeps session_
    detail::membership* session_ = nullptr;
    pace_request raw_ = {0, 0};
    bool is_collected_ = true;
};

// The result of session::next(): a request that has ended, and its end.
class completion {
  public:
    completion(pace_request raw, result<request_info> end) noexcept
        : raw_(raw), end_(std::move(end)) {}

    // Whether this is the end of `which`.
    bool is_of(const request& which) const noexcept {
        return raw_.session == which.raw().session && raw_.id == which.raw().id;
    }
    // The handle of pace.h, of a request that has been collected.
    pace_request raw() const noexcept { return raw_; }
    // How it ended.
    const result<request_info>& end() const noexcept { return end_; }
#if defined(__cpp_exceptions)
    // The info; throws what the request ended with.
    const request_info& get() const {
        if (!end_) raise(end_.error());
        return *end_;
    }
#endif

  private:
    pace_request raw_;
    result<request_info> end_;
};

}  // namespace pace
