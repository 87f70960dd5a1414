# Driver: does what the specification's runner (bindings/spec) says on the standard input, through the package Pace.

# A case takes less time than compiling what it calls: this goes on with Julia's interpreter.
const INTERPRETED = 3
if Base.JLOptions().compile_enabled != INTERPRETED
    words = String[Base.julia_cmd().exec..., "--compile=min", "--startup-file=no", "--project=$(dirname(@__DIR__))", @__FILE__]
    addresses = push!(map(word -> Base.unsafe_convert(Cstring, word), words), Cstring(C_NULL))
    GC.@preserve words ccall(:execv, Cint, (Cstring, Ptr{Cstring}), words[1], addresses)
    systemerror("execv")
end

using Pace

"The binding cannot say it."
struct CannotSay <: Exception
    reason::String
end

"An answer that is written already."
struct Ended <: Exception
    answer::String
end

const TYPES = Dict("f32" => Float32, "f64" => Float64, "f16" => Float16, "bf16" => Pace.BFloat16, "u32" => UInt32)
const KINDS = Dict("int" => text -> parse(Int64, text), "real" => text -> parse(Float64, text), "text" => String,
                   "bytes" => hex2bytes)
const VERBS = Dict("average" => Pace.average, "reduce" => Pace.reduce, "sync" => Pace.sync, "broadcast" => Pace.broadcast,
                   "barrier" => Pace.barrier, "push" => Pace.push, "pull" => Pace.pull, "checkpoint" => Pace.checkpoint,
                   "residual_save" => Pace.residual_save, "residual_load" => Pace.residual_load)

const sessions = Dict{String,Session}()
const buffers = Dict{String,Pace.Buffer}()
const requests = Dict{String,Pace.Request}()
const tensors = Dict{String,Pace.Tensor}()
const threads = Dict{String,Task}()

include("commands.jl")

"What is answered to a line."
function answer(line)
    try
        command = Command(line)
        haskey(COMMANDS, command.verb) || return "broken no such command: $(command.verb)"
        return rstrip("PACE_OK $(something(COMMANDS[command.verb](command), ""))")
    catch error
        error isa PaceError && return failure(error)
        error isa Ended && return error.answer
        error isa CannotSay && return "unsupported $(error.reason)"
        Base.display_error(stderr, error, catch_backtrace())
        return "broken $(replace(sprint(showerror, error), '\n' => ' '))"
    end
end

function failure(error::PaceError)
    println(stderr, sprint(showerror, error))
    told = Pace.status_name(error.status)
    isempty(error.argument) || (told *= " argument=$(error.argument)")
    return error.info === nothing ? told : "$told $(info_text(error.info))"
end

function info_text(info::Pace.Info)
    counts = (:iteration, :user_data, :group, :round, :version, :member_count, :node_count, :contributor_count, :rounds, :entries,
              :staleness, :slowest_clock)
    parts = ["$name=$(unsigned(getfield(info, name)))" for name in counts]
    append!(parts, "$name=$(Int(getfield(info, name)))" for name in (:late, :resync, :dense))
    push!(parts, "divisor=$(number_text(info.divisor))", "contents=$(info.contents)")
    if !isempty(info.members)
        push!(parts, "members=" * join((member.rank for member in info.members), ","))
        push!(parts, "weights=" * join((number_text(member.weight) for member in info.members), ","))
    end
    return join(parts, " ")
end

"f16 and bf16 are told by their bits."
number_text(number::Union{Float32,Float64}) = lowercase(string(number))
number_text(number::UInt32) = string(number)
number_text(number::Float16) = string(reinterpret(UInt16, number))
number_text(number::Pace.BFloat16) = string(number.bits)

number_of(::Type{T}, text) where {T<:Union{Float32,Float64,UInt32}} = parse(T, text)
number_of(::Type{Float16}, text) = reinterpret(Float16, parse(UInt16, text))
number_of(::Type{Pace.BFloat16}, text) = reinterpret(Pace.BFloat16, [parse(UInt16, text)])[1]

# A handler of SIGUSR1 that does nothing. Julia blocks the signal, and prints where it is when a thread of its own gets it: here it is
# handled by the thread that reads commands. getpid stands for a handler in C without effects.
struct SignalAction # struct sigaction of Linux
    handler::Ptr{Cvoid}
    mask::NTuple{16,UInt64}
    flags::Cint
    restorer::Ptr{Cvoid}
end

function handle_signal()
    usr1, unblock = 10, 1
    set = Ref(ntuple(index -> index == 1 ? UInt64(1) << (usr1 - 1) : UInt64(0), 16))
    action = Ref(SignalAction(cglobal(:getpid), ntuple(_ -> UInt64(0), 16), 0, C_NULL))
    systemerror("sigaction", ccall(:sigaction, Cint, (Cint, Ptr{Cvoid}, Ptr{Cvoid}), usr1, action, C_NULL) != 0)
    systemerror("pthread_sigmask", ccall(:pthread_sigmask, Cint, (Cint, Ptr{Cvoid}, Ptr{Cvoid}), unblock, set, C_NULL) != 0)
end

function main()
    handle_signal()
    for line in eachline(stdin)
        println(answer(line))
        flush(stdout)
    end
    # Without leaving jobs in order, whatever tasks wait for.
    ccall(:_exit, Cvoid, (Cint,), 0)
end

main()
