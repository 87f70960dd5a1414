# SessionHandle: libpace's session, freed after its last use and never while a call on it runs.
#
# Finalizers run at any point of any task, also of one that is within these functions. They
# therefore take no lock: one atomic number counts the uses of the session, and a buffer without
# references is released, which does not wait.

"The pointer to a session. Threads: any."
mutable struct SessionHandle
    pointer::Ptr{Cvoid}
    pid::Int32
    # Twice the number of calls that run, and one more when it is closed.
    state::Threads.Atomic{Int}
end

SessionHandle(pointer::Ptr{Cvoid}) = SessionHandle(pointer, getpid(), Threads.Atomic{Int}(0))

is_closed(handle::SessionHandle) = isodd(handle.state[])

"Whether this is the process that opened the session, and not a forked child of it."
is_ours(handle::SessionHandle) = getpid() == handle.pid

"Gives a function the pointer, which is good until it returns. Throws Closed."
function use(f, handle::SessionHandle)
    enter(handle)
    try
        return f(handle.pointer)
    finally
        leave_call(handle)
    end
end

"Calls a function with the pointer and a pace_error. Throws what it fails with. A call that a signal has ended is made again."
function call(f, handle::SessionHandle)
    while !call_once(f, handle)
        GC.safepoint() # An InterruptException comes here.
    end
end

"As call, and false when a signal has ended the call, which has done nothing then."
function call_once(f, handle::SessionHandle)
    error = Ref{ABI.pace_error}()
    status = use(session -> f(session, error), handle)
    status in (ABI.PACE_OK, ABI.PACE_INTERRUPTED) || throw(error_of(status, error[]))
    return status == ABI.PACE_OK
end

"""
Runs a function, without interruption by an InterruptException, until it returns something else than
nothing. An InterruptException that has come meanwhile is thrown between two runs.
"""
function uninterrupted(f)
    while true
        done = disable_sigint(f)
        done === nothing || return done
    end
end

function enter(handle::SessionHandle)
    while true
        state = handle.state[]
        isodd(state) && throw(Closed("session: it has been closed; open another one", argument = "session"))
        Threads.atomic_cas!(handle.state, state, state + 2) == state && return nothing
    end
end

function leave_call(handle::SessionHandle)
    # What atomic_sub! gives is the state before.
    Threads.atomic_sub!(handle.state, 2) == 3 && end_session(handle)
    return nothing
end

"Frees the session without leaving the job, when the last call that runs has returned. Blocks: no. Finalizers may call it."
function free(handle::SessionHandle)
    is_ours(handle) && Threads.atomic_or!(handle.state, 1) == 0 && end_session(handle)
    return nothing
end

function end_session(handle::SessionHandle)
    pointer, handle.pointer = handle.pointer, C_NULL
    ABI.pace_session_free(pointer)
end

"Has the session's next call that makes or frees a buffer free this one. For finalizers: does not block."
function release(handle::SessionHandle, raw::ABI.pace_buffer)
    (is_closed(handle) || !is_ours(handle)) && return nothing # It is freed with the session.
    try
        # What fails here is freed with the session.
        use(session -> ABI.pace_buffer_release(session, raw, C_NULL), handle)
    catch error
        error isa Closed || rethrow()
    end
    return nothing
end
