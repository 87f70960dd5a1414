// session: this process as one worker of a job.
#pragma once

#include <pace/option.hpp>
#include <pace/verbs.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace pace {

// How the training goes, as its trainer sees it; what is absent is not told.
struct progress {
    std::optional<double> loss;           // of the latest step, or a mean over some
    std::optional<double> samples_per_s;  // that this worker trains on; above 0
    // Steps of the training, as its trainer counts them.
    struct steps_of {
        std::uint64_t done = 0;
        std::uint64_t total = 0;  // that it is to make in all; above 0
    };
    std::optional<steps_of> steps = std::nullopt;
};

// A worker's membership in a job, and its verbs. Move-only.
//
// The session object, its buffers and its requests own the session together; the last of them frees
// it. A session that has not left before then ends as if the worker had died: its job goes on
// without it, and keeps what a worker that returns would need. An exception that ends a trainer is
// therefore safe. A trainer that is done calls leave().
//
// Threads: any, several at a time, apart from moves and free(). Calls on one session are serialized
// inside. Different sessions are independent. A forked child must not use it, and is told so
// (invalid).
class session : public verbs {
  public:
    // An empty session, to be assigned to. Every call on it fails with invalid.
    session() noexcept = default;

    // Connects to a daemon and joins the job, creating it if this worker is the first. Blocks:
    // until the job is joined, at most connect_timeout; not for the other workers. Fails with:
    // invalid (argument or option named), not_found or daemon_gone (no daemon there), version,
    // no_controller, taken, mismatch, denied, limit, memory, disk; interrupted with
    // options.signals.
    static result<session> open(nothrow_t, const session_options& options) noexcept {
        const std::size_t count = options.options.size();
        const std::unique_ptr<pace_option[]> listed(new (std::nothrow) pace_option[count + 1]);
        if (!listed) return failure(detail::no_memory());
        for (std::size_t i = 0; i < count; ++i) listed[i] = options.options[i].raw();
        pace_session_options raw = PACE_SESSION_OPTIONS_INIT;
        raw.rank = options.rank;
        raw.world = options.world;
        raw.flags = (options.resume ? static_cast<std::uint32_t>(PACE_SESSION_RESUME) : 0U) |
                    (options.signals ? static_cast<std::uint32_t>(PACE_SESSION_SIGNALS) : 0U);
        raw.connect_ms = options.connect_timeout.count();
        raw.endpoint = options.endpoint ? options.endpoint->c_str() : nullptr;
        raw.job = options.job.c_str();
        raw.policy = options.policy.c_str();
        raw.options = count == 0 ? nullptr : listed.get();
        raw.option_count = count;
        raw.run = options.run ? options.run->c_str() : nullptr;
        pace_session* opened = nullptr;
        pace_error error;
        if (pace_session_open(&raw, &opened, &error) != PACE_OK) return failure(error);
        session joined(opened);
        if (joined) return joined;
        pace_session_free(opened);
        return failure(detail::no_memory());
    }

    // Leaves the job in order: the others go on without this worker at once. Every other call fails
    // with closed then; buffers stay mapped. Blocks: for the daemon's answer, at most `time`, or
    // pace::forever. Fails with: timeout (the daemon has been told, and has not answered in time),
    // daemon_gone (it cannot be told), closed (it has left before).
    result<void> leave(nothrow_t,
                       std::chrono::milliseconds time = std::chrono::seconds(1)) noexcept {
        pace_error error;
        if (pace_session_leave(native_handle(), time.count(), &error) != PACE_OK)
            return failure(error);
        return {};
    }

    // Frees the session and its buffers now, even if buffers or requests still own it. The buffers'
    // data() is then null, their elements() are empty, and requests end without being seen. Blocks:
    // no. Threads: no other call on this session may run.
    void free() noexcept {
        if (membership_) membership_->free();
    }

    // Whether there is a session that is not freed.
    explicit operator bool() const noexcept { return native_handle() != nullptr; }

    // Rank, world, how it joined, job, node, run. Blocks: no. Fails with: invalid.
    result<session_info> info(nothrow_t) const noexcept {
        session_info told;
        pace_error error;
        if (pace_session_get_info(native_handle(), &told, &error) != PACE_OK) return failure(error);
        return told;
    }

    // A descriptor that polls readable while ended requests wait to be collected, or the daemon is
    // gone. The session's own: do not read, write or close it; it lives as long as the session.
    // Blocks: no. Fails with: limit, invalid.
    result<int> descriptor(nothrow_t) const noexcept {
        int descriptor = -1;
        pace_error error;
        if (pace_session_get_fd(native_handle(), &descriptor, &error) != PACE_OK)
            return failure(error);
        return descriptor;
    }

    // The session of pace.h, which stays this object's; null for an empty or freed one.
    pace_session* native_handle() const noexcept { return detail::raw_of(membership_); }

    // Zeroed memory of `count` elements that the daemon shares, aligned to a page; on a GPU with
    // device::cuda(n). If an earlier process of this rank died on this node, the memory has the
    // contents that the process left: buffer_info::is_restored(). Blocks: for one exchange with the
    // daemon, and where the session lost its daemon, until it has reconnected. Fails with: invalid,
    // limit, memory, unsupported, not_found (no such GPU), and to reconnect as open().
    template <class T>
    result<buffer<T>> make_buffer(nothrow_t, std::uint64_t count, device where = {}) noexcept {
        return typed<T>(make_buffer(nothrow, element_of<T>, count, where));
    }
    result<any_buffer> make_buffer(nothrow_t, element type, std::uint64_t count,
                                   device where = {}) noexcept {
        pace_buffer_options raw = PACE_BUFFER_OPTIONS_INIT;
        raw.device = where;
        return create(type, count, raw);
    }

    // A buffer in memory of the trainer's own, aligned for T, which must stay until the buffer and
    // the requests that name it are gone. Memory of the host is copied at each call, and back when
    // the request is collected; memory of a GPU is shared. Blocks and fails as make_buffer().
    template <class T>
    result<buffer<T>> import_memory(nothrow_t, span<T> memory, device where = {}) noexcept {
        return typed<T>(import_memory(nothrow, element_of<T>, memory.data(), memory.size(), where));
    }
    result<any_buffer> import_memory(nothrow_t, element type, void* first, std::uint64_t count,
                                     device where = {}) noexcept {
        pace_buffer_options raw = PACE_BUFFER_OPTIONS_INIT;
        raw.source = PACE_POINTER;
        raw.device = where;
        raw.pointer = first;
        raw.flags = where.is_host() ? static_cast<std::uint32_t>(PACE_MAY_STAGE) : 0U;
        return create(type, count, raw);
    }

    // A buffer in the memory of a descriptor, shared without copies: a sealed memfd of `count`
    // elements in whole pages, or an exported allocation of a GPU. See pace_buffer_options. It is
    // duplicated and stays the caller's. Blocks and fails as make_buffer().
    template <class T>
    result<buffer<T>> import_descriptor(nothrow_t, int descriptor, std::uint64_t count,
                                        device where = {}) noexcept {
        return typed<T>(import_descriptor(nothrow, element_of<T>, descriptor, count, where));
    }
    result<any_buffer> import_descriptor(nothrow_t, element type, int descriptor,
                                         std::uint64_t count, device where = {}) noexcept {
        pace_buffer_options raw = PACE_BUFFER_OPTIONS_INIT;
        raw.source = PACE_FD;
        raw.device = where;
        raw.fd = descriptor;
        return create(type, count, raw);
    }

    // Waits for the session's request that ends first, and collects it: its request object then
    // fails with handle. The completion tells how the request ended. The call itself fails only if
    // it collected no request, with: not_found, at once (no request is in flight or waits to be
    // collected), interrupted, closed. Threads: the call may collect a request for which another
    // thread waits; use either next() or waits for single requests.
    result<completion> next(nothrow_t, const wait_options& how = {}) noexcept {
        return next(PACE_FOREVER, how);
    }
    // As next(), for so long at most. Fails also with: timeout.
    template <class Rep, class Period>
    result<completion> next_for(nothrow_t, std::chrono::duration<Rep, Period> time,
                                const wait_options& how = {}) noexcept {
        return next(detail::milliseconds_of(time), how);
    }

    // Tells those who watch (`pacectl status`, its metrics) how the training goes; nothing that
    // Pace does depends on it. It may be called at each step. If there are several calls within a
    // tenth of a second, only the first is told. Blocks: no. Fails with: invalid (nothing is given,
    // or a rate or a total that is not above 0).
    result<void> report(nothrow_t, const progress& told) const noexcept {
        pace_progress raw = PACE_PROGRESS_INIT;
        if (told.loss) raw.flags |= static_cast<std::uint32_t>(PACE_PROGRESS_LOSS);
        if (told.samples_per_s) raw.flags |= static_cast<std::uint32_t>(PACE_PROGRESS_RATE);
        if (told.steps) raw.flags |= static_cast<std::uint32_t>(PACE_PROGRESS_STEPS);
        raw.loss = told.loss.value_or(0);
        raw.samples_per_s = told.samples_per_s.value_or(0);
        raw.steps_done = told.steps.value_or(progress::steps_of{}).done;
        raw.steps_total = told.steps.value_or(progress::steps_of{}).total;
        pace_error error;
        if (pace_session_report(native_handle(), &raw, &error) != PACE_OK) return failure(error);
        return {};
    }

#if defined(__cpp_exceptions)
    void report(const progress& told) const { report(nothrow, told).value(); }
    explicit session(const session_options& options) : session(open(nothrow, options).value()) {}
    void leave(std::chrono::milliseconds time = std::chrono::seconds(1)) {
        leave(nothrow, time).value();
    }
    session_info info() const { return info(nothrow).value(); }
    int descriptor() const { return descriptor(nothrow).value(); }
    template <class T>
    buffer<T> make_buffer(std::uint64_t count, device where = {}) {
        return make_buffer<T>(nothrow, count, where).value();
    }
    any_buffer make_buffer(element type, std::uint64_t count, device where = {}) {
        return make_buffer(nothrow, type, count, where).value();
    }
    template <class T>
    buffer<T> import_memory(span<T> memory, device where = {}) {
        return import_memory<T>(nothrow, memory, where).value();
    }
    any_buffer import_memory(element type, void* first, std::uint64_t count, device where = {}) {
        return import_memory(nothrow, type, first, count, where).value();
    }
    template <class T>
    buffer<T> import_descriptor(int descriptor, std::uint64_t count, device where = {}) {
        return import_descriptor<T>(nothrow, descriptor, count, where).value();
    }
    any_buffer import_descriptor(element type, int descriptor, std::uint64_t count,
                                 device where = {}) {
        return import_descriptor(nothrow, type, descriptor, count, where).value();
    }
    completion next(const wait_options& how = {}) { return next(nothrow, how).value(); }
    // Nothing when the time has passed.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<completion> next_for(std::chrono::duration<Rep, Period> time,
                                                     const wait_options& how = {}) {
        result<completion> found = next_for(nothrow, time, how);
        if (found.status() == status::timeout) return std::nullopt;
        return std::move(found).value();
    }
#endif

  private:
    explicit session(pace_session* raw) noexcept : verbs(raw) {}

    result<any_buffer> create(element type, std::uint64_t count,
                              const pace_buffer_options& options) noexcept {
        // The owner is made first, so that no later step can fail.
        detail::reference<detail::memory> made(new (std::nothrow) detail::memory(
            membership_, type, count, device{options.device.type, options.device.id}.is_host()));
        if (!made) return failure(detail::no_memory());
        pace_error error;
        if (pace_buffer_create(native_handle(), static_cast<std::int32_t>(type), count, &options,
                               &made->raw, &made->data, &error) != PACE_OK)
            return failure(error);
        return any_buffer(std::move(made));
    }

    template <class T>
    static result<buffer<T>> typed(result<any_buffer> untyped) noexcept {
        if (!untyped) return untyped.error();
        return buffer<T>(std::move(*untyped));
    }

    result<completion> next(std::int64_t timeout_ms, const wait_options& how) noexcept {
        const pace_wait_options raw = detail::raw_of(how);
        pace_request found = {0, 0};
        request_info info;
        pace_error error;
        const pace_status outcome =
            pace_session_next(native_handle(), timeout_ms, &raw, &found, &info, &error);
        if (outcome == PACE_OK) return completion(found, info);
        if (info.status == PACE_PENDING) return failure(error);
        return completion(found, failure(error, info));
    }
};

}  // namespace pace
