# Verbs: what a worker does with its buffers. Each begins an operation and gives a Request; `wait` makes it blocking.
#
# `buffers` is a Buffer, a slice (`buffer[11:20]`), or a vector or tuple of them, which count as one vector. All workers give equal
# types and lengths. The elements must stay untouched until the request has ended. `results`: where the result goes, one slice for
# each; without it, in place. `user_data`: any number below 2^64; the Info tells it. `stream`: for
# buffers on a GPU, the address of the stream that makes their contents. Threads and tasks: any. No
# verb blocks, unless the session has to reconnect, which takes at most connect_ms. All throw
# Invalid, Handle, Verb (it does not fit the policy), Limit (64 requests are in flight or not
# collected), and, to reconnect, what Session throws.

const ORDERS = Dict(nothing => ABI.PACE_ORDER_DEFAULT, :forward => ABI.PACE_ORDER_FORWARD, :backward => ABI.PACE_ORDER_BACKWARD)
const OPS = Dict(:mean => ABI.PACE_OP_MEAN, :sum => ABI.PACE_OP_SUM)

"""
    average(session, buffers; iteration=0, results=nothing, order=nothing, keep_local=false, user_data=0, stream=nothing)

Averages parameters over a group of ready workers. `iteration` is this worker's own count; the Info has the group's newest. `order`
`:forward` or `:backward`: [`Pace.ready`](@ref) tells how many elements are ready. `keep_local`: the
trainer goes on with its steps, and its changes meanwhile are kept; see pace_average_options in
pace.h.
"""
function average(session::Session, buffers; iteration::Integer = 0, order::Union{Nothing,Symbol} = nothing, keep_local::Bool = false,
                 common...)
    fields = (order = choice(ORDERS, order, "order"), keep_local = keep_local)
    return begin_verb(ABI.pace_average, ABI.pace_average_options, session, buffers; fields = fields, iteration = iteration, common...)
end

"""
    reduce(session, buffers; op=:mean, iteration=0, results=nothing, user_data=0, stream=nothing)

Reduces gradients over all workers, to their `:mean` or `:sum`; all get bit-identical results.
"""
reduce(session::Session, buffers; op::Symbol = :mean, iteration::Integer = 0, common...) =
    begin_verb(ABI.pace_reduce, ABI.pace_reduce_options, session, buffers; fields = (op = choice(OPS, op, "op"),),
               iteration = iteration, common...)

"""
    broadcast(session, buffers; root=0, user_data=0, stream=nothing)

Gives everyone the buffers of worker `root`; a newcomer gets those of a healthy worker. The Info's
iteration says which step.
"""
broadcast(session::Session, buffers; root::Integer = 0, common...) =
    begin_verb(ABI.pace_broadcast, ABI.pace_broadcast_options, session, buffers; fields = (root = c_number(UInt32, root, "root"),),
               common...)

"""
    sync(session, buffers; results=nothing, user_data=0, stream=nothing)

Averages over all workers with equal weights, whatever the policy.
"""
sync(session::Session, buffers; common...) = begin_verb(ABI.pace_sync, ABI.pace_sync_options, session, buffers; common...)

"""
    barrier(session; user_data=0)

Ends when every worker has called it.
"""
barrier(session::Session; user_data::Integer = 0) =
    begin_verb(ABI.pace_barrier, ABI.pace_barrier_options, session; user_data = user_data)

"""
    push(session, buffers, iteration; first=0, indices=nothing, entries=nothing, user_data=0, stream=nothing)

Adds this worker's update of step `iteration` to the served model, from its element `first` on,
counted from 0. With `indices` the update is sparse. `indices` is a buffer of UInt32, whose indices
count from 0 and rise strictly; `buffers` is one buffer of Float32 with their values. The first
`entries` of each count, or all without `entries`.
"""
function push(session::Session, buffers, iteration::Integer; first::Integer = 0, indices = nothing,
              entries::Union{Nothing,Integer} = nothing, common...)
    is_sparse = indices !== nothing
    counted = something(entries, is_sparse ? length(indices) : 0)
    fields = (sparse = is_sparse, entries = c_number(UInt64, counted, "entries"), first = c_number(UInt64, first, "first"))
    return begin_verb(ABI.pace_push, ABI.pace_push_options, session, is_sparse ? (indices, buffers) : buffers; fields = fields,
                      iteration = iteration, common...)
end

"""
    pull(session, buffers, iteration; first=0, user_data=0, stream=nothing)

Fills the buffers with the served model, from its element `first` on, counted from 0, for this worker's step `iteration`.
"""
pull(session::Session, buffers, iteration::Integer; first::Integer = 0, common...) =
    begin_verb(ABI.pace_pull, ABI.pace_pull_options, session, buffers; fields = (first = c_number(UInt64, first, "first"),),
               iteration = iteration, common...)

"""
    checkpoint(session; user_data=0)

Has the daemons save the served model to their disks; ends when that is durable.
"""
checkpoint(session::Session; user_data::Integer = 0) =
    begin_verb(ABI.pace_checkpoint, ABI.pace_checkpoint_options, session; user_data = user_data)

"""
    residual_save(session, buffers; user_data=0, stream=nothing)

Writes what a top-k compression still owes to later rounds into Float32 buffers, one for each buffer
of the reduce.
"""
residual_save(session::Session, buffers; common...) =
    begin_verb(ABI.pace_residual_save, ABI.pace_residual_options, session, buffers; common...)

"""
    residual_load(session, buffers; user_data=0, stream=nothing)

Adds what [`Pace.residual_save`](@ref) wrote to what is owed.
"""
residual_load(session::Session, buffers; common...) =
    begin_verb(ABI.pace_residual_load, ABI.pace_residual_options, session, buffers; common...)

"""
    announce(session, iteration)

Says at the start of a step that `average` with this iteration comes next, so that its group forms meanwhile.
"""
function announce(session::Session, iteration::Integer)
    number = c_number(UInt64, iteration, "iteration")
    return call((pointer, error) -> ABI.pace_announce(pointer, number, error), session.handle)
end

"""
    withdraw(session)

Takes the announcement back.
"""
withdraw(session::Session) = call(ABI.pace_withdraw, session.handle)

"""
    next(session; timeout=nothing, local_iteration=0)

Waits for the request that ends first, collects it and returns it. Its `wait` then tells its end at
once. Throws [`Timeout`](@ref) when `timeout` seconds have passed, and [`NotFound`](@ref), at once,
when no request is in flight or waits to be collected. Other tasks run meanwhile.
"""
function next(session::Session; timeout = nothing, local_iteration::Integer = 0)
    return first_to_end(session, timeout, local_iteration) do pointer, arguments...
        ABI.pace_session_next(pointer, 0, arguments...)
    end
end

"""
    wait_any(requests; timeout=nothing, local_iteration=0)

As [`Pace.next`](@ref), of these requests of one session alone (1 to 64); others stay as they are. Gives one that has been collected
already at once. Throws [`Invalid`](@ref) when there are none, or too many.
"""
function wait_any(requests::AbstractVector{Request}; timeout = nothing, local_iteration::Integer = 0)
    isempty(requests) && throw(Invalid("requests: there are none; give 1 to 64", argument = "requests"))
    session = requests[1].session
    all(request -> request.session === session, requests) ||
        throw(Invalid("requests: they are of several sessions; wait for those of one", argument = "requests"))
    while true
        collected = findfirst(is_settled, requests)
        collected === nothing || return requests[collected]
        wanted = [request.raw for request in requests]
        try
            return first_to_end(session, timeout, local_iteration) do pointer, arguments...
                GC.@preserve wanted ABI.pace_request_wait_any(pointer, wanted, length(wanted), 0, arguments...)
            end
        catch error
            # Another task has collected one meanwhile.
            error isa Handle && any(is_settled, requests) || rethrow()
        end
    end
end

"""
    report(session; loss=nothing, samples_per_second=nothing, steps=nothing)

Tells those who watch (`pacectl status`, its metrics) how the training goes; nothing that Pace does depends on it. `steps` is a pair: how
many the training has made, and is to make in all; the time left follows from them. It may be called
at each step. If there are several calls within a tenth of a second, only the first is told. Does
not block. Throws [`Invalid`](@ref) when nothing is given, or a rate or a total that is not above 0.
"""
function report(session::Session; loss = nothing, samples_per_second = nothing, steps = nothing)
    flags = (loss === nothing ? 0 : ABI.PACE_PROGRESS_LOSS) | (samples_per_second === nothing ? 0 : ABI.PACE_PROGRESS_RATE) |
            (steps === nothing ? 0 : ABI.PACE_PROGRESS_STEPS)
    done, total = something(steps, (0, 0))
    progress = Ref(ABI.pace_progress(flags = flags, loss = something(loss, 0), samples_per_s = something(samples_per_second, 0),
                                     steps_done = done, steps_total = total))
    return call((pointer, error) -> ABI.pace_session_report(pointer, progress, error), session.handle)
end

"Waits by a call of libpace that looks once, and gives the request that it has collected."
function first_to_end(look, session::Session, timeout, local_iteration)
    how = Waiting(; local_iteration = local_iteration)
    found = Ref{Union{Nothing,Request}}(nothing)
    look_until(() -> collect_first(look, session, how, found), session, timeout)
    return found[]::Request
end

function collect_first(look, session::Session, how::Waiting, found)
    raw_request, error = Ref(ABI.pace_request()), Ref{ABI.pace_error}()
    raw = Ref(ABI.pace_request_info(status = ABI.PACE_PENDING))
    return undivided(session) do
        status = use(session.handle) do pointer
            look(pointer, how.options, raw_request, raw, error)
        end
        raw[].status == ABI.PACE_PENDING && return message_in_flight(status, error[])
        found[] = session.requests[raw_request[].id]
        settle(found[], raw[], how, error)
        return nothing
    end
end

"Begins a verb. `buffers` is nothing for a verb without any; `fields` are those of its options beside the call."
function begin_verb(verb, options_type, session::Session, buffers = nothing; fields = NamedTuple(), iteration::Integer = 0,
                    user_data::Integer = 0, results = nothing, stream = nothing)
    slices = buffers === nothing ? Slice[] : slices_of(buffers, "slices")
    outcomes = results === nothing ? Slice[] : slices_of(results, "results")
    raw, raw_results = raw_slices(slices), raw_slices(outcomes)
    called = ABI.pace_call(struct_size = sizeof(options_type), iteration = c_number(UInt64, iteration, "iteration"),
                           user_data = c_number(UInt64, user_data, "user_data"),
                           device = stream === nothing || isempty(slices) ? ABI.pace_device() : slices[1].buffer.device,
                           stream = something(stream, C_NULL),
                           results = results === nothing ? C_NULL : pointer(raw_results), result_count = length(raw_results))
    options, begun = Ref(options_type(; call = called, fields...)), Ref(ABI.pace_request())
    operands = buffers === nothing ? () : (raw, length(raw))
    return uninterrupted() do
        lock(session.lock) do
            has_begun = GC.@preserve raw_results call_once(session.handle) do pointer, error
                verb(pointer, operands..., options, begun, error)
            end
            has_begun || return nothing
            request = Request(session, begun[], vcat(slices, outcomes))
            session.requests[request.raw.id] = request
            return request
        end
    end
end

function choice(table, word, argument)
    haskey(table, word) || throw(Invalid("$argument: $(repr(word)) is none of its words; give one of " *
                                         join(map(repr, collect(keys(table))), ", "), argument = argument))
    return table[word]
end
