"""GroupJob: the job that the ranks of one of torch's process groups make, each group its own."""

import pathlib
import re
import secrets
import socket
import threading
from typing import Any, Callable, Mapping, Optional

import pace
from pace.place import JOB_NAME_MAX, Place
from pace.torch.memory import DeviceSession

_LABEL_MAX = 12
THREAD_END_S = 5.0  # more than a wait needs to see that its session has left
_BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id")


def new_identity() -> str:
    """What a group's first rank draws for all: jobs of two trainings, or of two groups in turn, then never meet."""
    return secrets.token_hex(4)


def this_machine() -> str:
    """Equal on all processes of a machine that see the same files."""
    return f"{socket.gethostname()} {_BOOT_ID.read_text(encoding='ascii').strip()}"


def open_session(place: Place, label: str, identity: str, rank: int, size: int, options: Mapping[str, Any]) -> pace.Session:
    """A session with `size` workers whose gradients are reduced. Blocks until the job is joined. Raises what pace.Session raises."""
    end = f".{re.sub(r'[^A-Za-z0-9_-]', '-', label)[:_LABEL_MAX]}.{identity}"
    place.ensure_daemon()
    named = {name: value for name, value in options.items() if "." in name}
    keywords = {name: value for name, value in options.items() if "." not in name}
    return DeviceSession(place.job[:JOB_NAME_MAX - len(end)] + end, "all-reduce", rank=rank, world=size, endpoint=place.endpoint,
                         options=named, **keywords)


def leave(session: pace.Session, thread: Optional[threading.Thread] = None, stop: Callable[[], None] = lambda: None) -> None:
    """Leaves the job in order, and ends the thread that waits for its requests: `stop` tells it. Blocks at most some seconds.

    The thread must not live on when Python ends: what it is in then is C++ of torch's, which Python cannot end without a crash.
    """
    stop()
    try:
        session.leave(1.0)
    except pace.PaceError:
        pass  # It counts as one that has died, which ends it, too.
    if thread is not None and thread is not threading.current_thread():
        thread.join(THREAD_END_S)
