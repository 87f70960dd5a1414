# Waiting for a session's descriptor, so that other tasks run meanwhile.

using FileWatching: FDWatcher

# The time between looks at the requests while the descriptor is readable for one that no task
# collects.
const AGAIN_SECONDS = 0.002
const MEMBERS_MAX = 128
const F_DUPFD_CLOEXEC = 1030

"What a Session is, for those that are declared before it."
abstract type Worker end

"The end of a wait of so many seconds; `nothing`: there is none. Throws Invalid for a negative number."
function deadline(timeout)
    timeout === nothing && return Inf
    timeout >= 0 || throw(Invalid("timeout: $timeout is no time; give seconds, 0 to look once, or nothing to wait for ever",
                                  argument = "timeout_ms"))
    return time_ns() / 1e9 + timeout
end

seconds_until(deadline) = max(deadline - time_ns() / 1e9, 0.0)

"Milliseconds as C takes them, rounded up; PACE_FOREVER for `nothing`."
function milliseconds(timeout)
    timeout === nothing && return ABI.PACE_FOREVER
    deadline(timeout)
    return ceil(Int64, min(timeout * 1000, 2.0^62))
end

"How a request is waited for: room for members, and a pace_wait_options that refers to it."
struct Waiting
    members::Vector{ABI.pace_member}
    options::Base.RefValue{ABI.pace_wait_options}
    is_queued::Base.RefValue{Bool} # the last look has made the stream wait
end

function Waiting(; local_iteration = 0, members = false, device = ABI.pace_device(), stream = nothing,
                 queued = false)
    room = Vector{ABI.pace_member}(undef, members ? MEMBERS_MAX : 0)
    # A wait on the host is not for a device.
    options = ABI.pace_wait_options(flags = queued ? ABI.PACE_WAIT_QUEUED : 0,
                                    local_iteration = c_number(UInt64, local_iteration, "local_iteration"),
                                    device = stream === nothing ? ABI.pace_device() : device,
                                    stream = something(stream, C_NULL),
                                    members = members ? pointer(room) : C_NULL, member_capacity = length(room))
    return Waiting(room, Ref(options), Ref(false))
end

"""
Whether the session's descriptor is readable within so many seconds; also when the session ends meanwhile. Other tasks run. Throws
Closed, SystemError.
"""
function is_readable_within(session::Worker, seconds::Real)
    descriptor = copied_descriptor(session.handle)
    watcher = timer = nothing
    try
        watcher = FDWatcher(RawFD(descriptor), true, false)
        watch(session, watcher) || return true
        if isfinite(seconds)
            timer = Timer(_ -> close(watcher), seconds)
            # The timer's task now comes to its wait: the task that waits last gets an
            # InterruptException.
            yield()
        end
        wait(watcher)
        return true
    catch error
        # Closing a watcher ends its wait so.
        error isa EOFError || rethrow()
        return is_over(session)
    finally
        timer === nothing || close(timer)
        watcher === nothing || unwatch(session, watcher)
        ccall(:close, Cint, (Cint,), descriptor)
    end
end

"A descriptor of the caller's own: the session may close its one while this is waited for, and each wait is closed by itself."
function copied_descriptor(handle::SessionHandle)
    descriptor = Ref{Int32}(-1)
    copied = use(handle) do session
        error = Ref{ABI.pace_error}()
        status = ABI.pace_session_get_fd(session, descriptor, error)
        status == ABI.PACE_OK || throw(error_of(status, error[]))
        ccall(:fcntl, Cint, (Cint, Cint, Cint...), descriptor[], F_DUPFD_CLOEXEC, 0)
    end
    systemerror("fcntl", copied < 0)
    return copied
end

is_over(session::Worker) = session.has_left || is_closed(session.handle)

"Has `wake` close the watcher. False when the session is over."
function watch(session::Worker, watcher::FDWatcher)
    lock(session.lock) do
        push!(session.watchers, watcher)
        !is_over(session)
    end
end

function unwatch(session::Worker, watcher::FDWatcher)
    lock(() -> filter!(other -> other !== watcher, session.watchers), session.lock)
    close(watcher)
end

"Ends the waits of other tasks, which find that the session is over."
wake(session::Worker) = lock(() -> foreach(close, session.watchers), session.lock)

"""
Calls `look`, which gives a message while nothing has ended and `nothing` afterwards, whenever the descriptor is readable. Throws
Timeout with the message when the time has passed. Other tasks run meanwhile.
"""
function look_until(look, session::Worker, timeout)
    last_moment = deadline(timeout)
    was_readable = false
    while true
        message = look()
        message === nothing && return nothing
        left = seconds_until(last_moment)
        left == 0 && throw(Timeout(message))
        # Another task's request has ended: the descriptor would be readable again at once.
        was_readable && sleep(min(left, AGAIN_SECONDS))
        was_readable = is_readable_within(session, left)
    end
end
