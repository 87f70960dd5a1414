# What the tests share.

const PROJECT = dirname(@__DIR__)
const job_count = Ref(0)

"The name of a job that no other test has."
new_job() = "test-$(job_count[] += 1)"

alone(policy = "all-reduce"; options...) = Session(new_job(), policy; rank = 0, world = 1, options...)

"The sessions of a job of two workers."
function pair(policy = "all-reduce"; options...)
    job = new_job()
    return [Session(job, policy; rank = rank, world = 2, options...) for rank in 0:1]
end

"A pair of averaging workers, each with a buffer of the values."
function averaging_pair(values_of_workers...)
    sessions = pair("partial-reduce"; group_size = 2)
    return sessions, map(filled, sessions, collect(values_of_workers))
end

function filled(session, values)
    buffer = Pace.buffer(session, eltype(values), size(values)...)
    Pace.array(buffer) .= values
    return buffer
end

"What a function throws; nothing when it throws nothing."
function thrown(f)
    try
        f()
        return nothing
    catch error
        return error
    end
end

"Starts a task and lets it run until it waits for something."
function waiting_task(f)
    task = @async f()
    yield()
    return task
end

"How many pieces of memory of daemons this process maps."
mapped() = count(line -> occursin("memfd:pace", line), eachline("/proc/self/maps"))

"The number of the file that this process maps at an address; nothing where there is no memory."
function file_at(address)
    for line in eachline("/proc/self/maps")
        range, _, _, _, file = split(line)
        first, last = parse.(UInt, split(range, "-"); base = 16)
        first <= UInt(address) < last && return parse(Int, file)
    end
    return nothing
end

"Collects garbage until a condition holds. Finalizers may need more than one collection."
collect_until(condition) = any(_ -> (GC.gc(); condition()), 1:10)

"A Julia of its own that runs a program with this package."
julia(program) = `$(Base.julia_cmd()) --startup-file=no --project=$PROJECT -e $program`
