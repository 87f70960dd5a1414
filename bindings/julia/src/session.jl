# Session: this process as one worker of a job.

"""
    Session(job, policy; rank=nothing, world=nothing, endpoint=nothing, run=nothing, connect_ms=10000, resume=false,
            options=Dict(), keywords...)
    Session(f, job, policy; ...)

A worker's membership in a job. `rank` and `world` come from the launcher's environment when they are `nothing`, and `run` and
`endpoint` from where libpace finds them (PACE_RUN_ID and what launchers say; PACE_ENDPOINT, else this node's daemon). `connect_ms`
bounds the wait for the daemon, also whenever the session reconnects. `resume`: this worker goes on with the run of this identity
though all its workers have died. Other keywords are options of the job, `group_size = 3` for group.size, or
`options = Dict("group.size" => 3)`; all workers give the same.

Blocks its thread until the job is joined, at most `connect_ms`; Ctrl-C ends that. Throws [`Invalid`](@ref) (an argument or option,
named), [`NotFound`](@ref) or [`DaemonGone`](@ref) (no daemon), `Version`, `NoController`, `Taken`, `Mismatch`, `Denied`, `Limit`,
`NoMemory`, `Disk`.

`Session(...) do session ... end` leaves the job in order at its end. When an exception ends the block, the session is freed without
leaving, as if the worker had died: the job goes on, and keeps what a worker that returns would need. So does a session that nobody
refers to. Threads and tasks: any; calls on one session are serialized. A forked child must not use it, and is told so.
"""
mutable struct Session <: Worker
    handle::SessionHandle
    lock::ReentrantLock
    # Requests that are not collected yet: they keep their buffers, also when they have no
    # references.
    requests::Dict{UInt64,Request}
    # What tasks wait with now.
    watchers::Vector{FDWatcher}
    has_left::Bool
end

Session(handle::SessionHandle) = Session(handle, ReentrantLock(), Dict{UInt64,Request}(), FDWatcher[], false)

function Session(job::AbstractString, policy::Union{AbstractString,Symbol}; rank::Union{Nothing,Integer} = nothing,
                 world::Union{Nothing,Integer} = nothing, endpoint::Union{Nothing,AbstractString} = nothing,
                 run::Union{Nothing,AbstractString} = nothing, connect_ms::Integer = 10000, resume::Bool = false,
                 options = Dict{String,Any}(), keywords...)
    rank, world = place(rank, world)
    encoded, alive = encode(options, keywords)
    texts = map(((value, name),) -> value === nothing ? nothing : c_text(string(value), name),
                ((endpoint, "endpoint"), (job, "job"), (policy, "policy"), (run, "run")))
    addresses = map(text -> text === nothing ? Ptr{UInt8}(C_NULL) : pointer(text), texts)
    described = Ref(ABI.pace_session_options(
        rank = c_number(UInt32, rank, "rank"), world = c_number(UInt32, world, "world"),
        connect_ms = c_number(Int64, connect_ms, "connect_ms"),
        flags = ABI.PACE_SESSION_SIGNALS | (resume ? ABI.PACE_SESSION_RESUME : 0), endpoint = addresses[1], job = addresses[2],
        policy = addresses[3], options = pointer(encoded), option_count = length(encoded), run = addresses[4]))
    return GC.@preserve encoded alive texts open_session(described)
end

function open_session(described)
    pointer, error = Ref{Ptr{Cvoid}}(C_NULL), Ref{ABI.pace_error}()
    # An InterruptException must not come between the opening and the finalizer.
    return uninterrupted() do
        status = ABI.pace_session_open(described, pointer, error)
        status == ABI.PACE_INTERRUPTED && return nothing
        status == ABI.PACE_OK || throw(error_of(status, error[]))
        session = Session(SessionHandle(pointer[]))
        return finalizer(session -> free(session.handle), session)
    end
end

function Session(f::Function, arguments...; keywords...)
    session = Session(arguments...; keywords...)
    result = try
        f(session)
    catch
        free(session)
        rethrow()
    end
    close(session)
    return result
end

Base.show(io::IO, session::Session) = print(io, "Pace.Session ", isopen(session) ? "open" : "closed")
Base.isopen(session::Session) = !is_closed(session.handle)

"""
    close(session; timeout=1.0)

Leaves the job in order, and frees the session. Closing twice does nothing. Blocks and throws as
[`Pace.leave`](@ref), except that it throws nothing if the daemon does not answer in time.
"""
function Base.close(session::Session; timeout = 1.0)
    isopen(session) || return nothing
    try
        leave(session; timeout = timeout)
    catch error
        # The daemon has been told; or the session has left before.
        error isa Union{Timeout,Closed} || rethrow()
    finally
        free(session)
    end
    return nothing
end

"""
    leave(session; timeout=1.0)

Leaves the job: the others go on without this worker at once. Everything but `free` and `close` fails then. Blocks its thread at most
`timeout` seconds (`nothing`: without limit). Throws [`Timeout`](@ref) (the daemon has been told, and has not answered in time),
[`DaemonGone`](@ref) (it cannot be told: the worker counts as one that died), and [`Closed`](@ref).
"""
function leave(session::Session; timeout = 1.0)
    timeout_ms = milliseconds(timeout)
    try
        call((pointer, error) -> ABI.pace_session_leave(pointer, timeout_ms, error), session.handle)
    catch error
        # This alone leaves the session as it was.
        error isa Invalid || end_waits(session)
        rethrow()
    end
    end_waits(session)
    return nothing
end

function end_waits(session::Session)
    session.has_left = true
    wake(session)
end

"""
    free(session)

Frees the session; without `leave` before, as if the worker had died. Waits of other tasks end as [`Closed`](@ref). Buffers are freed
with it; arrays over them stay good. Does not block.
"""
function free(session::Session)
    free(session.handle)
    wake(session)
end

function info(session::Session)
    raw = Ref(ABI.pace_session_info())
    call((pointer, error) -> ABI.pace_session_get_info(pointer, raw, error), session.handle)
    return session_info_of(raw[])
end

"""
    descriptor(session)

A descriptor that polls readable while ended requests wait to be collected. The session's own, and good until it is freed.
"""
function descriptor(session::Session)
    number = Ref{Int32}(-1)
    call((pointer, error) -> ABI.pace_session_get_fd(pointer, number, error), session.handle)
    return RawFD(number[])
end

"""
    buffer(session, type, size...; device="cpu")

A [`Pace.Buffer`](@ref) of zeroed memory that the daemon shares. `type` is Float32, Float64, Float16, [`Pace.BFloat16`](@ref) or UInt32;
`device` also `"cuda:0"`. If an earlier process of this rank died on this node, the buffer has that
process's contents (`Pace.info(buffer).restored`). Blocks its thread for one exchange with the
daemon. Throws `Limit`, `NoMemory`, `Unsupported`, `NotFound` (no such GPU), `Invalid`.
"""
buffer(session::Session, type::Type, size::Integer...; device::AbstractString = "cpu") =
    new_buffer(session.handle, type, lengths(size), ABI.pace_buffer_options(source = ABI.PACE_NEW, fd = -1, device = device_of(device)))

"""
    import_array(session, array)

A [`Pace.Buffer`](@ref) in an `Array`'s own memory, which is kept alive, copied to the daemon at each call, and back when the request is
collected. Whoever changes the array's length imports it again. Blocks and throws as [`Pace.buffer`](@ref).
"""
import_array(session::Session, array::Array) =
    new_buffer(session.handle, eltype(array), size(array),
               ABI.pace_buffer_options(source = ABI.PACE_POINTER, fd = -1, pointer = pointer(array), flags = ABI.PACE_MAY_STAGE), array)

"""
    import_fd(session, fd, type, size...; device="cpu")

A [`Pace.Buffer`](@ref) in the memory of a descriptor, without copies: one of [`Pace.memfd`](@ref), or of a GPU's exported memory. The
descriptor is duplicated, and stays the caller's. Blocks and throws as [`Pace.buffer`](@ref).
"""
import_fd(session::Session, fd::RawFD, type::Type, size::Integer...; device::AbstractString = "cpu") =
    new_buffer(session.handle, type, lengths(size),
               ABI.pace_buffer_options(source = ABI.PACE_FD, fd = reinterpret(Int32, fd), device = device_of(device)))

const MFD_CLOEXEC, MFD_ALLOW_SEALING, F_ADD_SEALS = 0x0001, 0x0002, 1033
const F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW = 0x0001, 0x0002, 0x0004

"""
    memfd(type, size...)

A descriptor of zeroed memory that [`Pace.import_fd`](@ref) takes, sealed as pace.h asks. The caller closes it, for example by
`close(fdio(reinterpret(Int32, fd), true))`. Throws `SystemError`.
"""
function memfd(type::Type, size::Integer...)
    type_number(type)
    page = ccall(:getpagesize, Cint, ())
    bytes = cld(sizeof(type) * prod(lengths(size)), page) * page
    fd = ccall(:memfd_create, Cint, (Cstring, Cuint), "pace-trainer", MFD_CLOEXEC | MFD_ALLOW_SEALING)
    systemerror("memfd_create", fd < 0)
    failed = ccall(:ftruncate, Cint, (Cint, Int64), fd, bytes) != 0 ||
             ccall(:fcntl, Cint, (Cint, Cint, Cint...), fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0
    if failed
        reason = Libc.errno()
        ccall(:close, Cint, (Cint,), fd)
        throw(SystemError("memfd", reason))
    end
    return RawFD(fd)
end

function lengths(size)
    all(length -> length >= 0, size) || throw(Invalid("size: $size has a length below 0", argument = "count"))
    return map(Int, size)
end
