"""Errors: one exception class for each status of pace.h, with what a caller needs to handle it.

The sign of `status` says who acts: above 0 it is an outcome that a trainer handles, below 0 a fault.
"""

from typing import TYPE_CHECKING, Any, Dict, Optional, Type

from pace import _abi

if TYPE_CHECKING:
    from pace.info import Info


class PaceError(Exception):
    """Base of all errors.

    `status` is the number in pace.h and `status_name` its name there. `argument` names the argument or option that is wrong,
    or is empty. `message` says what was wrong, with which value. `remedy` says what to do, in general terms. `info` is
    the `Info` of the request that ended this way, or None when no request has ended.
    """

    status: int = 0
    remedy: str = ""

    def __init__(self, message: str, argument: str = "", status: Optional[int] = None, info: "Optional[Info]" = None):
        super().__init__(message)
        self.message = message
        self.argument = argument
        self.info = info
        if status is not None:
            self.status = status

    @property
    def status_name(self) -> str:
        """The name of the status in pace.h, "PACE_E_TAKEN"; "PACE_?" for a status of a later release."""
        return _NAMES.get(self.status, "PACE_?")

    def __str__(self) -> str:
        return f"{self.status_name}: {self.message}"

    def __reduce__(self) -> Any:
        return (type(self), (self.message, self.argument, self.status, self.info))


class Timeout(PaceError, TimeoutError):
    """The time given has passed. The request is still in flight: wait again, or cancel it."""
    status = _abi.PACE_TIMEOUT
    remedy = "wait again, or cancel the request"


class Aborted(PaceError):
    """A failure elsewhere ended the request. The buffers are as they were."""
    status = _abi.PACE_ABORTED
    remedy = "call the verb again"


class Canceled(PaceError):
    """The request ended because cancel() asked for it."""
    status = _abi.PACE_CANCELED
    remedy = "call the verb again when the result is wanted after all"


class Stale(PaceError):
    """The job went on without this worker, whose model lacks what the others have done."""
    status = _abi.PACE_STALE
    remedy = "call broadcast(), which gives the current model"


class Pending(PaceError):
    """The request is still in flight."""
    status = _abi.PACE_PENDING
    remedy = "wait for the request"


class Interrupted(PaceError, InterruptedError):
    """A signal came. The binding handles it itself; no function of this package raises this."""
    status = _abi.PACE_INTERRUPTED
    remedy = "call again"


class Invalid(PaceError, ValueError):
    """An argument or option is wrong: `argument` names it."""
    status = _abi.PACE_E_INVALID
    remedy = "correct the argument that is named"


class Handle(PaceError):
    """A buffer or request that is freed, collected, or of another session."""
    status = _abi.PACE_E_HANDLE
    remedy = "use the buffers and requests of this session only, until they are freed or collected"


class Verb(PaceError):
    """The verb does not fit the job's policy."""
    status = _abi.PACE_E_VERB
    remedy = "use the verb that the message names, or another policy"


class Mismatch(PaceError):
    """The workers disagree about options, buffers, or the order of verbs."""
    status = _abi.PACE_E_MISMATCH
    remedy = "give all workers the same options, buffers and order of verbs"


class NotFound(PaceError):
    """There is no such daemon, job, file or device; from next(): there is no request."""
    status = _abi.PACE_E_NOT_FOUND
    remedy = "start paced, or set PACE_ENDPOINT to the endpoint of one that runs; see python -m pace doctor"


class Taken(PaceError):
    """The rank or name is in use."""
    status = _abi.PACE_E_TAKEN
    remedy = "give each worker a rank of its own; wait for the earlier run to end, or give the job another name"


class Version(PaceError):
    """The daemon, or the library, is of another version."""
    status = _abi.PACE_E_VERSION
    remedy = "install the same version of Pace on all nodes"


class DaemonGone(PaceError):
    """The daemon ended or cannot be reached. `info.contents` says what the buffers of the request hold."""
    status = _abi.PACE_E_DAEMON_GONE
    remedy = "call again: the session reconnects when the daemon is back"


class NoController(PaceError):
    """The daemon cannot reach its controller."""
    status = _abi.PACE_E_NO_CONTROLLER
    remedy = "start pace-controller, and check the address that the daemon was given"


class Limit(PaceError):
    """A quota of the daemon, or of this process, is used up."""
    status = _abi.PACE_E_LIMIT
    remedy = "collect requests, free buffers, or raise the limit that is named"


class Memory(PaceError, MemoryError):
    """There is too little memory, in this process or shared with the daemon."""
    status = _abi.PACE_E_MEMORY
    remedy = "use smaller or fewer buffers, or give the node more memory"


class Disk(PaceError):
    """There is no room on a disk that must record this."""
    status = _abi.PACE_E_DISK
    remedy = "make room on the disk that is named, or configure a folder for checkpoints"


class Denied(PaceError, PermissionError):
    """This user is not permitted to do this."""
    status = _abi.PACE_E_DENIED
    remedy = "have an administrator add this user to the group of the daemon's socket"


class Closed(PaceError):
    """The session has been closed, or what it belonged to is over."""
    status = _abi.PACE_E_CLOSED
    remedy = "open another session"


class Internal(PaceError):
    """A defect of Pace."""
    status = _abi.PACE_E_INTERNAL
    remedy = "please report it, with the message"


class Refused(PaceError):
    """What the request named was refused: a gradient with a NaN, an index outside of the model. The buffers are as they were."""
    status = _abi.PACE_E_REFUSED
    remedy = "correct the contents that the message describes"


class Unsupported(PaceError):
    """This library, or this node's daemon, lacks the device or feature."""
    status = _abi.PACE_E_UNSUPPORTED
    remedy = "use memory of the host, or a build with the feature"


def _classes() -> Dict[int, Type[PaceError]]:
    return {kind.status: kind for kind in PaceError.__subclasses__()}


CLASSES: Dict[int, Type[PaceError]] = _classes()

# Faults are PACE_E_TAKEN and so on, with numbers below 0; outcomes have the names of their classes.
_NAMES: Dict[int, str] = {
    **{value: name for name, value in vars(_abi).items() if name.startswith("PACE_E_")},
    **{kind.status: f"PACE_{kind.__name__.upper()}" for kind in CLASSES.values() if kind.status > 0},
}


def error_of(status: int, message: str = "", argument: str = "", info: "Optional[Info]" = None) -> PaceError:
    """The exception for a status. A status that a later release adds is a PaceError."""
    return CLASSES.get(status, PaceError)(message, argument, status, info)


def error_from(status: int, raw: "_abi.pace_error") -> PaceError:
    """The exception for a status, with what libpace says of it."""
    return error_of(status, raw.message.decode(errors="replace"), raw.argument.decode(errors="replace"))
