# Which worker of how many this process is, as its launcher says by environment variables.

# The variables for rank and world. Within a Slurm job, mpirun sets variables of its own, which then
# count.
const LAUNCHERS = (("RANK", "WORLD_SIZE"),                                   # torchrun; python -m pace run
                   ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),         # Open MPI
                   ("PMI_RANK", "PMI_SIZE"),                                 # MPICH
                   ("SLURM_PROCID", "SLURM_NTASKS"))                         # Slurm

"""
    launched(environment=ENV)

The `(rank, world)` that torchrun, Open MPI, MPICH or Slurm say; `nothing` without a launcher. Throws [`Invalid`](@ref) when one of
its variables is missing beside the other, or is no number.
"""
function launched(environment = ENV)
    for (rank, world) in LAUNCHERS
        haskey(environment, rank) || continue
        haskey(environment, world) ||
            throw(Invalid("$rank is set and $world is not; set both, or give rank and world to Session", argument = "world"))
        return variable_number(environment, rank), variable_number(environment, world)
    end
    return nothing
end

function variable_number(environment, name)
    number = tryparse(UInt32, environment[name])
    number === nothing && throw(Invalid("$name is $(repr(environment[name])); set it to a whole number", argument = lowercase(name)))
    return Int(number)
end

"The rank and world to open a session with. Throws Invalid when one is neither given nor told by a launcher."
function place(rank, world)
    rank === nothing || world === nothing || return rank, world
    found = launched()
    if found === nothing
        lacking = rank === nothing ? "rank" : "world"
        throw(Invalid("$lacking: none was given, and no launcher's variables are set; give rank and world, or start the workers by " *
                      "torchrun, srun or mpirun", argument = lacking))
    end
    return something(rank, found[1]), something(world, found[2])
end
