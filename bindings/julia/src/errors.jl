# Errors: one exception type for each status of pace.h, with what a caller needs to handle it.

"""
    PaceError{status}

What a call of Pace has failed with. `status` is the number in pace.h; above 0 it is an outcome that a trainer handles, below 0 a
fault. `argument` names the argument or option that is wrong, or is empty. `message` says what was wrong, with which value, and
what to do. `info` is the [`Pace.Info`](@ref) of the request that ended this way, or `nothing` when no request has ended.

Each status has a name: `error isa Pace.Stale`. A status that a later release adds is a `PaceError` with its number.
"""
struct PaceError{status} <: Exception
    argument::String
    message::String
    info::Union{Nothing,Info}
end

PaceError{S}(message::AbstractString; argument = "", info = nothing) where {S} = PaceError{S}(argument, message, info)

Base.getproperty(error::PaceError{S}, name::Symbol) where {S} = name === :status ? S : getfield(error, name)
Base.propertynames(::PaceError) = (:status, :argument, :message, :info)

"The time given has passed. The request is still in flight: wait again, or cancel it."
const Timeout = PaceError{ABI.PACE_TIMEOUT}
"A failure elsewhere ended the request. The buffers are as they were: call the verb again."
const Aborted = PaceError{ABI.PACE_ABORTED}
"The request ended because `cancel` asked for it."
const Canceled = PaceError{ABI.PACE_CANCELED}
"The job went on without this worker, whose model lacks what the others have done. `broadcast` gives the current model."
const Stale = PaceError{ABI.PACE_STALE}
"The request is still in flight. No function of this package throws it."
const Pending = PaceError{ABI.PACE_PENDING}
"A signal came. No function of this package throws it: they call again."
const Interrupted = PaceError{ABI.PACE_INTERRUPTED}
"An argument or option is wrong: `argument` names it."
const Invalid = PaceError{ABI.PACE_E_INVALID}
"A buffer or request that is freed, collected, or of another session."
const Handle = PaceError{ABI.PACE_E_HANDLE}
"The verb does not fit the job's policy: use the verb that the message names, or another policy."
const Verb = PaceError{ABI.PACE_E_VERB}
"The workers disagree about options, buffers, or the order of verbs."
const Mismatch = PaceError{ABI.PACE_E_MISMATCH}
"There is no such daemon, job, library or device; of `next`: there is no request."
const NotFound = PaceError{ABI.PACE_E_NOT_FOUND}
"The rank or name is in use."
const Taken = PaceError{ABI.PACE_E_TAKEN}
"The daemon, or the library, is of another version: install one version of Pace everywhere."
const Version = PaceError{ABI.PACE_E_VERSION}
"The daemon ended or cannot be reached; the next call reconnects. `info.contents` says what the request's buffers hold."
const DaemonGone = PaceError{ABI.PACE_E_DAEMON_GONE}
"The daemon cannot reach its controller."
const NoController = PaceError{ABI.PACE_E_NO_CONTROLLER}
"A quota of the daemon, or of this process, is used up: collect requests, free buffers, or raise the limit."
const Limit = PaceError{ABI.PACE_E_LIMIT}
"There is too little memory, in this process or shared with the daemon."
const NoMemory = PaceError{ABI.PACE_E_MEMORY}
"There is no room on a disk that must record this."
const Disk = PaceError{ABI.PACE_E_DISK}
"This user is not permitted to do this."
const Denied = PaceError{ABI.PACE_E_DENIED}
"The session has been closed, or what it belonged to is over: open another one."
const Closed = PaceError{ABI.PACE_E_CLOSED}
"A defect of Pace: please report it, with the message."
const Internal = PaceError{ABI.PACE_E_INTERNAL}
"What the request named was refused: a gradient with a NaN, an index outside of the model. The buffers are as they were."
const Refused = PaceError{ABI.PACE_E_REFUSED}
"This library, or this node's daemon, lacks the device or feature."
const Unsupported = PaceError{ABI.PACE_E_UNSUPPORTED}

const OUTCOMES = (:PACE_OK, :PACE_TIMEOUT, :PACE_ABORTED, :PACE_CANCELED, :PACE_STALE, :PACE_PENDING, :PACE_INTERRUPTED)
const STATUS_NAMES = Dict(Int(getfield(ABI, name)) => String(name) for name in names(ABI, all = true)
                          if name in OUTCOMES || startswith(String(name), "PACE_E_"))

"""
    status_name(status)

The name of a status in pace.h, `"PACE_E_TAKEN"`; `"PACE_?"` for a number that is none.
"""
status_name(status::Integer) = unsafe_string(ABI.pace_status_name(status))

# Not by status_name: an error is also shown where there is no library.
Base.showerror(io::IO, error::PaceError) = print(io, get(STATUS_NAMES, error.status, "PACE_?"), ": ", error.message)

error_of(status::Integer, raw::ABI.pace_error) = PaceError{Int(status)}(fixed_text(raw.argument), fixed_text(raw.message), nothing)
