"""
Pace: distributed training that goes on when workers are slow, late or dead.

    Session("fashion", "partial-reduce"; group_size = 3) do session
        model = Pace.buffer(session, Float32, 7850)
        weights = Pace.array(model)
        step = wait(Pace.broadcast(session, model)).iteration
        while step < steps
            local_step!(weights)
            step = wait(Pace.average(session, model; iteration = step)).iteration + 1
        end
    end

Every verb begins an operation and gives a `Pace.Request`; `wait` gives its `Pace.Info`, and lets other tasks run. Failures are
exceptions, a `PaceError` with a type for each status.
"""
module Pace

# What is here only calls libpace: it is compiled quickly rather than well.
Base.Experimental.@optlevel 1

export Session, PaceError

include("abi.jl")
include("info.jl")
include("errors.jl")
include("library.jl")
include("types.jl")
include("options.jl")
include("launch.jl")
include("handle.jl")
include("memory.jl")
include("buffer.jl")
include("waiting.jl")
include("request.jl")
include("session.jl")
include("verbs.jl")

__init__() = ABI.loader[] = load

end
