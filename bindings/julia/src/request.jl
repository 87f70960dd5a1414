# Request: a verb in flight, and its end.

"""
A verb that has begun. Its session keeps the buffers that it names until it has been collected, by `wait`, [`Pace.isdone`](@ref) or
[`Pace.next`](@ref). Every request ends once, also when the daemon dies. Threads and tasks: any; several may wait for one request.
"""
mutable struct Request
    session::Worker
    raw::ABI.pace_request
    slices::Vector{Slice}
    status::Int # PACE_PENDING until it has been collected
    info::Union{Nothing,Info}
    argument::String
    message::String
end

Request(session::Worker, raw::ABI.pace_request, slices::Vector{Slice}) =
    Request(session, raw, slices, ABI.PACE_PENDING, nothing, "", "")

is_settled(request::Request) = request.status != ABI.PACE_PENDING

Base.show(io::IO, request::Request) =
    print(io, "Pace.Request ", request.raw.id, ": ", get(STATUS_NAMES, request.status, request.status))

"""
    wait(request; timeout=nothing, local_iteration=0, members=false, stream=nothing)

Waits for the end and gives its [`Pace.Info`](@ref). Throws for every end but OK: [`Stale`](@ref), [`Aborted`](@ref),
[`DaemonGone`](@ref), and so on. Waiting again for a request that has ended gives the same end.

Other tasks run meanwhile. `timeout` is in seconds: `nothing` waits for ever, 0 looks once. When it
has passed, [`Timeout`](@ref) is thrown and the request stays in flight. The request also stays in
flight when an `InterruptException` ends the wait. `local_iteration`: for an average with
`keep_local`, how far this worker has come. `members`: tell of each member. `stream`: for buffers on
a GPU, the address of the stream that waits instead of this task.
"""
function Base.wait(request::Request; timeout = nothing, local_iteration::Integer = 0, members::Bool = false, stream = nothing)
    if !is_settled(request)
        device = isempty(request.slices) ? ABI.pace_device() : request.slices[1].buffer.device
        how = Waiting(; local_iteration = local_iteration, members = members, device = device, stream = stream)
        look_until(() -> collect_end(request, how), request.session, timeout)
    end
    return ended(request)
end

"""
    queue_wait(request, stream)

Makes a GPU's stream wait for the end, and not this task. For buffers on a GPU; `stream` is the stream's address, `C_NULL` the
default stream. Gives `nothing` when the stream waits; the request stays in flight, so collect it later. The stream goes on whatever
the end is, also when the daemon dies: look at the end before you use what was made of the buffers. Gives the [`Pace.Info`](@ref) of
a request that has ended. Throws as `wait`. Blocks only where streams cannot wait so long: with a driver before CUDA 11.7, and with a
daemon inside this process.
"""
function queue_wait(request::Request, stream)
    is_settled(request) && return ended(request)
    device = isempty(request.slices) ? ABI.pace_device() : request.slices[1].buffer.device
    how = Waiting(; device = device, stream = stream, queued = true)
    collect_end(request, how)
    is_settled(request) && return ended(request)
    how.is_queued[] && return nothing
    return wait(request; stream = stream)
end

"""
    isdone(request)

Looks whether the request has ended, and collects it then. Does not block, but for copies of staged memory.
"""
function isdone(request::Request)
    is_settled(request) || collect_end(request, Waiting())
    return is_settled(request)
end

"""
    cancel(request)

Asks that the request end as [`Canceled`](@ref). A request that is in an exchange already, or has
ended, ends in the ordinary way: wait for it in either case. Does not block. Throws
[`DaemonGone`](@ref) and [`Limit`](@ref).
"""
function cancel(request::Request)
    is_settled(request) && return nothing
    try
        call((session, error) -> ABI.pace_request_cancel(session, request.raw, error), request.session.handle)
    catch error
        # It has been collected meanwhile.
        error isa Handle || rethrow()
    end
    return nothing
end

"""
    ready(request, elements)

For an average with an order: this many elements of its buffers are ready and will not be written
again. Does not block. Throws [`Invalid`](@ref), and [`Limit`](@ref) when the daemon has not taken
the last 64 calls yet.
"""
function ready(request::Request, elements::Integer)
    count = c_number(UInt64, elements, "elements")
    return call((session, error) -> ABI.pace_request_ready(session, request.raw, count, error), request.session.handle)
end

function ended(request::Request)
    request.status == ABI.PACE_OK && return request.info
    throw(PaceError{request.status}(request.argument, request.message, request.info))
end

"""
Runs a call of libpace and the steps that must follow it. No other thread's call on the same
session, and no InterruptException, comes between them. No finalizer takes this lock.
"""
undivided(f, session::Worker) = disable_sigint(() -> lock(f, session.lock))

"Looks once. A text, which may say for whom it waits, while the request is in flight; nothing when it has ended."
function collect_end(request::Request, how::Waiting)
    session = request.session
    raw, error = Ref(ABI.pace_request_info(status = ABI.PACE_PENDING)), Ref{ABI.pace_error}()
    return undivided(session) do
        is_settled(request) && return nothing
        status = use(session.handle) do pointer
            GC.@preserve how ABI.pace_request_wait(pointer, request.raw, 0, how.options, raw, error)
        end
        if raw[].status != ABI.PACE_PENDING
            settle(request, raw[], how, error)
            return nothing
        end
        how.is_queued[] = status == ABI.PACE_PENDING
        return message_in_flight(status, error[])
    end
end

function message_in_flight(status, error::ABI.pace_error)
    status in (ABI.PACE_TIMEOUT, ABI.PACE_PENDING, ABI.PACE_INTERRUPTED) || throw(error_of(status, error))
    return fixed_text(error.message)
end

function settle(request::Request, raw::ABI.pace_request_info, how::Waiting, error::Ref{ABI.pace_error})
    if raw.status != ABI.PACE_OK
        request.argument = fixed_text(error[].argument)
        request.message = fixed_text(error[].message)
    end
    request.info = info_of(raw, how.members)
    request.status = raw.status
    request.slices = Slice[]
    delete!(request.session.requests, request.raw.id)
    return nothing
end
