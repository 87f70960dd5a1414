"""Pace: distributed training that goes on when workers are slow, late or dead.

    with pace.Session("fashion", "partial-reduce", group_size=3) as session:
        model = session.buffer("f32", 7850)
        weights = model.numpy()
        step = session.broadcast(model).wait().iteration
        while step < steps:
            local_step(weights)
            step = session.average(model, iteration=step).wait().iteration + 1

Every verb begins an operation and gives a Request: `.wait()` blocks for its Info, `await` is for asyncio. Failures are
exceptions, a class for each status: see pace.errors. `python -m pace run -n 4 train.py` starts workers.
"""

from pace import launch
from pace._abi import PACE_VERSION_MAJOR, PACE_VERSION_MINOR, PACE_VERSION_PATCH
from pace._library import library, version_text
from pace.buffer import Buffer, Operand, Slice
from pace.errors import (Aborted, Canceled, Closed, DaemonGone, Denied, Disk, Handle, Internal, Interrupted, Invalid, Limit,
                         Memory, Mismatch, NoController, NotFound, PaceError, Pending, Refused, Stale, Taken, Timeout,
                         Unsupported, Verb, Version)
from pace.info import BufferInfo, Info, Member, SessionInfo
from pace.options import Hint, query
from pace.request import Request
from pace.session import Session, memfd

__version__ = f"{PACE_VERSION_MAJOR}.{PACE_VERSION_MINOR}.{PACE_VERSION_PATCH}"

__all__ = [
    "Aborted", "Buffer", "BufferInfo", "Canceled", "Closed", "DaemonGone", "Denied", "Disk", "Handle", "Hint", "Info", "Internal",
    "Interrupted", "Invalid", "Limit", "Member", "Memory", "Mismatch", "NoController", "NotFound", "Operand", "PaceError",
    "Pending", "Refused", "Request", "Session", "SessionInfo", "Slice", "Stale", "Taken", "Timeout", "Unsupported", "Verb",
    "Version", "launch", "library_version", "memfd", "query", "status_name",
]


def library_version() -> str:
    """The version of the libpace that is loaded, "1.0.0". Raises NotFound when there is none."""
    return version_text(library().pace_library_version())


def status_name(status: int) -> str:
    """The name of a status in pace.h, "PACE_E_TAKEN"; "PACE_?" for a number that is none."""
    name: bytes = library().pace_status_name(status)
    return name.decode()
