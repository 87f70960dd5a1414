# Commands: what each line of the specification's protocol does. Included by driver.jl.

"A line: its verb, its words, and its keys."
struct Command
    verb::String
    words::Vector{String}
    keys::Dict{String,String}
end

function Command(line::AbstractString)
    words = String.(split(line))
    return Command(words[1], words[2:end], Dict(String.(split(word, "="; limit = 2)) |> pair -> pair[1] => pair[2]
                                                for word in words if '=' in word))
end

name(command) = command.words[1]
text(command, key, otherwise = nothing) = get(command.keys, key, otherwise)
has(command, key) = haskey(command.keys, key)
number(command, key, otherwise = nothing) = has(command, key) ? parse(Int64, command.keys[key]) : otherwise
count_of(command, key, otherwise = nothing) = has(command, key) ? parse(UInt64, command.keys[key]) : otherwise
session(command) = sessions[text(command, "session")]

"Seconds; nothing for a wait without an end."
function seconds(command)
    milliseconds = number(command, "timeout_ms", -1)
    return milliseconds == -1 ? nothing : milliseconds / 1000
end

function open_session(command)
    options = Dict{String,Any}()
    for (key, value) in command.keys
        kind, option = ':' in key ? split(key, ":"; limit = 2) : continue
        parsed = KINDS[replace(kind, "hint-" => "")](value)
        options[option] = startswith(kind, "hint-") ? Pace.Hint(parsed) : parsed
    end
    opened = Session(text(command, "job"), text(command, "policy"); rank = number(command, "rank"), world = number(command, "world"),
                     endpoint = text(command, "endpoint"), run = text(command, "run"),
                     connect_ms = number(command, "connect_ms", 10000), resume = number(command, "resume", 0) == 1,
                     options = options)
    sessions[name(command)] = opened
    told = Pace.info(opened)
    return "rank=$(told.rank) world=$(told.world)"
end

function tell_session(command)
    told = Pace.info(sessions[name(command)])
    return "rank=$(told.rank) world=$(told.world) run_state=$(told.run_state) generation=$(told.generation) job=$(told.job) " *
           "node=$(told.node) run=$(told.run)"
end

function report_progress(command)
    told(key) = has(command, key) ? parse(Float64, text(command, key)) : nothing
    steps = has(command, "steps_total") ? (number(command, "steps_done", 0), number(command, "steps_total")) : nothing
    Pace.report(sessions[name(command)]; loss = told("loss"), samples_per_second = told("samples_per_s"), steps = steps)
    return nothing
end

function poll_descriptor(command)
    # struct pollfd: descriptor, wanted, found
    wanted = Ref((reinterpret(Int32, Pace.descriptor(sessions[name(command)])), Int16(1), Int16(0)))
    found = ccall(:poll, Cint, (Ptr{Cvoid}, Culong, Cint), wanted, 1, number(command, "timeout_ms"))
    return "readable=$(Int(found == 1))"
end

function barrier_told(session)
    try
        Pace.barrier(session)
        return "PACE_OK"
    catch error
        return error isa PaceError ? Pace.status_name(error.status) : "broken"
    end
end

"Julia's compiler does not work in the child of a fork: what the child will do is done before, with no session, which is refused too."
compile_barrier_told() = barrier_told(Session(Pace.SessionHandle(C_NULL)))

function fork_session(command)
    forked = sessions[name(command)]
    compile_barrier_told()
    reading, writing = pipe_ends()
    child = ccall(:fork, Cint, ())
    if child == 0
        told = barrier_told(forked)
        ccall(:write, Cssize_t, (Cint, Cstring, Csize_t), writing, told, sizeof(told))
        ccall(:_exit, Cvoid, (Cint,), 0)
    end
    ccall(:close, Cint, (Cint,), writing)
    bytes = zeros(UInt8, 100)
    length_read = ccall(:read, Cssize_t, (Cint, Ptr{UInt8}, Csize_t), reading, bytes, 100)
    ccall(:close, Cint, (Cint,), reading)
    ccall(:waitpid, Cint, (Cint, Ptr{Cvoid}, Cint), child, C_NULL, 0)
    return "child=" * String(bytes[1:length_read])
end

function pipe_ends()
    ends = zeros(Cint, 2)
    systemerror("pipe", ccall(:pipe, Cint, (Ptr{Cint},), ends) != 0)
    return ends
end

function make_buffer(command)
    type, count = TYPES[text(command, "type")], count_of(command, "count")
    source = text(command, "source", "new")
    buffers[name(command)] = if source == "pointer"
        Pace.import_array(session(command), fill!(Vector{type}(undef, count), zero(type)))
    elseif source == "fd"
        descriptor = Pace.memfd(type, count)
        try
            Pace.import_fd(session(command), descriptor, type, count)
        finally
            ccall(:close, Cint, (Cint,), reinterpret(Int32, descriptor))
        end
    else
        Pace.buffer(session(command), type, count)
    end
    return nothing
end

function describe(command)
    told = Pace.info(buffers[name(command)])
    type = first(word for (word, type) in TYPES if type == told.type)
    typestr = isempty(told.typestr) ? "none" : told.typestr
    return "type=$type count=$(told.count) typestr=$typestr restored=$(Int(told.restored)) staged=$(Int(told.staged))"
end

function write_elements(command)
    elements = Pace.array(buffers[name(command)])
    first = count_of(command, "first", 0)
    for (index, word) in enumerate(split(text(command, "values"), ","))
        elements[first + index] = number_of(eltype(elements), word)
    end
end

function fill_elements(command)
    elements = Pace.array(buffers[name(command)])
    fill!(elements, number_of(eltype(elements), text(command, "value")))
    return nothing
end

function read_elements(command)
    elements = Pace.array(buffers[name(command)])
    first = number(command, "first", 0)
    count = number(command, "count", length(elements) - first)
    return "values=" * join(map(number_text, elements[first + 1:first + count]), ",")
end

function make_tensor(command)
    made = Pace.tensor(buffers[text(command, "buffer")]; major = number(command, "major", 0))
    tensors[name(command)] = made
    told = Pace.dl_tensor(made)
    return "count=$(length(made)) code=$(told.code) bits=$(told.bits)"
end

"buffers=B,C[2:5] names elements 2, 3 and 4 of C, counted from 0."
function operand(words)
    parts = Any[]
    for part in split(words, ","; keepempty = false)
        found = match(r"^([^\[]+)(?:\[(\d+):(\d+)\])?$", part)
        whole = buffers[found[1]]
        push!(parts, found[2] === nothing ? whole : whole[parse(Int, found[2]) + 1:parse(Int, found[3])])
    end
    return parts
end

"Begins a request with the keys that the verb of the binding has as keywords."
function begin_verb(command)
    keywords = Dict{Symbol,Any}()
    operands = has(command, "buffers") ? Any[operand(text(command, "buffers"))] : Any[]
    if command.verb in ("push", "pull")
        push!(operands, count_of(command, "iteration"))
    elseif command.verb in ("average", "reduce") && has(command, "iteration")
        keywords[:iteration] = count_of(command, "iteration")
    end
    for key in ("user_data", "root", "first")
        has(command, key) && (keywords[Symbol(key)] = count_of(command, key))
    end
    for key in ("order", "op")
        has(command, key) && (keywords[Symbol(key)] = Symbol(text(command, key)))
    end
    has(command, "results") && (keywords[:results] = operand(text(command, "results")))
    has(command, "keep_local") && (keywords[:keep_local] = number(command, "keep_local") == 1)
    if number(command, "sparse", 0) == 1
        indices, values = operands[1]
        operands[1], keywords[:indices], keywords[:entries] = values, indices, count_of(command, "entries")
    end
    requests[name(command)] = VERBS[command.verb](session(command), operands...; keywords...)
    return nothing
end

function wait_request(command)
    number(command, "signals", 0) == 1 &&
        throw(CannotSay("no wait of this binding ends by a signal: an InterruptException is Julia's word for one"))
    return info_text(wait(requests[name(command)]; timeout = seconds(command), members = true,
                          local_iteration = count_of(command, "local_iteration", 0)))
end

function test_request(command)
    request = requests[name(command)]
    Pace.isdone(request) || throw(Pace.Pending("in flight"))
    return info_text(wait(request))
end

next_request(command) = end_of(Pace.next(sessions[name(command)]; timeout = seconds(command)))

wait_any_request(command) =
    end_of(Pace.wait_any([requests[named] for named in split(text(command, "requests"), ",")]; timeout = seconds(command)))

function release_buffer(command)
    delete!(buffers, name(command))
    GC.gc()
    return nothing
end

function end_of(ended)
    named = first(named for (named, request) in requests if request === ended)
    try
        return "$(info_text(wait(ended))) request=$named"
    catch error
        error isa PaceError || rethrow()
        throw(Ended("$(failure(error)) request=$named"))
    end
end

function ask(command)
    json = Pace.query(name(command); endpoint = text(command, "endpoint"))
    is_document = (startswith(json, "{") && endswith(rstrip(json), "}")) || (startswith(json, "[") && endswith(rstrip(json), "]"))
    return "json=$(Int(is_document))"
end

release_number(version) = 10000 * version.major + 100 * version.minor + version.patch

function versions(_)
    header = VersionNumber(Pace.ABI.PACE_VERSION_MAJOR, Pace.ABI.PACE_VERSION_MINOR, Pace.ABI.PACE_VERSION_PATCH)
    return "header=$(release_number(header)) library=$(release_number(Pace.library_version()))"
end

"A task of its own: a wait in it lets others run, as one in a thread would."
function spawn(command)
    line = join(command.words[2:end], " ")
    threads[name(command)] = @async answer(line)
    return nothing
end

function join_thread(command)
    told = fetch(pop!(threads, name(command)))
    startswith(told, "PACE_OK") || throw(Ended(told))
    return strip(told[length("PACE_OK") + 1:end])
end

function drop(command)
    for names in (sessions, buffers, requests)
        delete!(names, name(command))
    end
    GC.gc()
    return nothing
end

finish(action) = command -> (action(command); nothing)

const COMMANDS = Dict{String,Function}(
    "open" => open_session, "info" => tell_session, "fd" => poll_descriptor, "report" => report_progress, "fork" => fork_session,
    "leave" => finish(command -> Pace.leave(sessions[name(command)]; timeout = number(command, "timeout_ms", 1000) / 1000)),
    "free" => finish(command -> Pace.free(sessions[name(command)])),
    "announce" => finish(command -> Pace.announce(sessions[name(command)], count_of(command, "iteration"))),
    "withdraw" => finish(command -> Pace.withdraw(sessions[name(command)])),
    "buffer" => make_buffer, "describe" => describe, "write" => finish(write_elements), "fill" => fill_elements,
    "read" => read_elements, "free_buffer" => finish(command -> Pace.free(buffers[name(command)])),
    "tensor" => make_tensor, "read_tensor" => command -> "values=" * join(map(number_text, collect(tensors[name(command)])), ","),
    "free_tensor" => finish(command -> close(pop!(tensors, name(command)))),
    "ready" => finish(command -> Pace.ready(requests[name(command)], count_of(command, "elements"))),
    "cancel" => finish(command -> Pace.cancel(requests[name(command)])),
    "wait" => wait_request, "test" => test_request, "next" => next_request, "wait_any" => wait_any_request,
    "release_buffer" => release_buffer, "query" => ask, "version" => versions,
    "name" => command -> "name=$(Pace.status_name(parse(Int32, name(command))))",
    "spawn" => spawn, "join" => join_thread, "drop" => drop, (verb => begin_verb for verb in keys(VERBS))...)
