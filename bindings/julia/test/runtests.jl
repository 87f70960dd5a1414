# Tests of the package Pace, with a daemon in this process. The environment gives PACE_LIBRARY and PACE_LIBPACED.

# No test talks to a daemon that happens to run here.
ENV["PACE_ENDPOINT"] = "embedded:"
for name in ("PACE_RUN_ID", "RANK", "WORLD_SIZE", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
    delete!(ENV, name)
end

using Pace
using Test

include("support.jl")

@testset "Pace" begin
    for name in ("abi", "options", "verbs", "server", "waiting", "memory", "imported", "session", "threads")
        @testset "$name" begin
            include("$(name)_test.jl")
        end
    end
end
