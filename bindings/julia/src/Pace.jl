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

# Names that are public but not exported: write Pace.buffer. docs/reference/julia.md describes these
# names.
const PUBLIC = (:Buffer, :Slice, :Request, :Tensor, :BFloat16, :Hint, :Info, :SessionInfo, :BufferInfo, :Member,
                :leave, :free, :info, :descriptor, :buffer, :import_array, :import_fd, :memfd, :array, :tensor, :dl_tensor,
                :average, :reduce, :broadcast, :sync, :barrier, :push, :pull, :checkpoint, :residual_save, :residual_load,
                :announce, :withdraw, :next, :wait_any, :report, :queue_wait, :isdone, :cancel, :ready, :launched, :query, :library_version, :status_name,
                :Timeout, :Aborted, :Canceled, :Stale, :Pending, :Interrupted, :Invalid, :Handle, :Verb, :Mismatch, :NotFound, :Taken,
                :Version, :DaemonGone, :NoController, :Limit, :NoMemory, :Disk, :Denied, :Closed, :Internal, :Refused, :Unsupported)

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
