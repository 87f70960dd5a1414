"""Request: a verb in flight, and its end."""

import asyncio
import ctypes
import math
import time
from typing import TYPE_CHECKING, Any, Generator, List, Optional

from pace import _abi
from pace._library import library
from pace.errors import Handle as HandleError
from pace.errors import Invalid, PaceError, Timeout, error_from, error_of
from pace.info import Info, info_of
from pace.types import stream_address

if TYPE_CHECKING:
    from pace.buffer import Slice
    from pace.session import Session

_LISTED_MAX = 128
_TRY_AGAIN = (_abi.PACE_TIMEOUT, _abi.PACE_PENDING, _abi.PACE_INTERRUPTED)


class Waiting:
    """How a request is waited for: a pace_wait_options, and room for members."""

    def __init__(self, local_iteration: int = 0, device: Optional[_abi.pace_device] = None, stream: Any = None,
                 members: bool = False):
        room = (_abi.pace_member * (_LISTED_MAX if members else 1))()
        self.is_queued = False  # the last wait has made its stream wait
        self.members: Any = room if members else ()
        # In every thread: a wait looks twice a second whether its session has been closed.
        self.options = _abi.pace_wait_options(struct_size=ctypes.sizeof(_abi.pace_wait_options), flags=_abi.PACE_WAIT_SIGNALS,
                                              local_iteration=local_iteration)
        if device is not None and stream is not None:
            self.options.device = device
            self.options.stream = stream_address(stream)
        if members:
            self.options.members = ctypes.cast(room, ctypes.POINTER(_abi.pace_member))
            self.options.member_capacity = _LISTED_MAX


class Deadline:
    """The end of a wait of so many seconds; None: there is none. Raises Invalid for a negative number."""

    def __init__(self, seconds: Optional[float]):
        if seconds is not None and not seconds >= 0:
            raise Invalid(f"timeout: {seconds!r} is no time; give seconds, 0 to look once, or None to wait for ever", "timeout_ms")
        self._end = None if seconds is None or math.isinf(seconds) else time.monotonic() + seconds

    def left_ms(self) -> int:
        if self._end is None:
            return _abi.PACE_FOREVER
        return min(max(math.ceil((self._end - time.monotonic()) * 1000), 0), 2 ** 62)


class Request:
    """A verb that has begun. Keeps its buffers until it has ended. Threads: any; several may wait for one request.

    Every request ends once, also when the daemon dies. The session keeps it until it is collected, by wait(), done(),
    `await`, or Session.next().
    """

    def __init__(self, session: "Session", raw: _abi.pace_request, slices: "List[Slice]"):
        self._session = session
        self._raw = raw
        self._slices = slices
        self._status: Optional[int] = None
        self._info: Optional[Info] = None
        self._argument = ""
        self._message = ""

    def __repr__(self) -> str:
        return f"<pace.Request {self._raw.id}: {'in flight' if self._status is None else self._status}>"

    def wait(self, timeout: Optional[float] = None, *, local_iteration: int = 0, stream: Any = None,
             members: bool = False) -> Info:
        """Waits for the end and tells of it. Raises for every end but OK: Stale, Aborted, DaemonGone, and so on.

        `timeout` is in seconds: None waits for ever, 0 looks once. When it has passed, Timeout is raised and the request
        stays in flight. Other threads run meanwhile, and Ctrl-C ends the wait within a second; the request stays in flight
        then, too. Waiting again for a request that has ended gives the same end. `local_iteration`:
        for an average with keep_local, how far this worker has come. `stream`: for buffers on a
        GPU, the stream that waits instead of this thread (0: the default stream). `members`: tell
        of each member.
        """
        how = Waiting(local_iteration, self._device(), stream, members)
        deadline = Deadline(timeout)
        while self._status is None:
            left_ms = deadline.left_ms()
            message = self._collect(left_ms, how)
            if message is not None and left_ms == 0:
                raise Timeout(message)
        return self._end()

    def queue_wait(self, stream: Any) -> Optional[Info]:
        """Makes a GPU's stream wait for the end, and not this thread. For buffers on a GPU; 0 is the default stream.

        None: the stream waits, and the request stays in flight; collect it later. The stream goes on whatever the end is,
        also when the daemon dies, so look at the end before you use what was made of the buffers. An Info: the request has
        ended, and the stream sees the result. Raises as wait(). Blocks only where streams cannot wait so long: with a driver
        before CUDA 11.7, and with a daemon inside this process.
        """
        how = Waiting(0, self._device(), stream)
        how.options.flags |= _abi.PACE_WAIT_QUEUED
        while self._status is None:
            self._collect(_abi.PACE_FOREVER, how)
            if self._status is None and how.is_queued:
                return None
        return self._end()

    def done(self) -> bool:
        """Looks whether the request has ended, and collects it then. Does not block, but for copies of staged memory."""
        if self._status is None:
            self._collect(0, Waiting())
        return self._status is not None

    @property
    def failed(self) -> bool:
        """It has been collected, and has ended in another way than OK."""
        return self._status not in (None, _abi.PACE_OK)

    def __await__(self) -> Generator[Any, None, Info]:
        return self.wait_async().__await__()

    async def wait_async(self, *, local_iteration: int = 0, members: bool = False) -> Info:
        """As wait(), for asyncio; `await request` is short for it. Any number of requests may be awaited at once.

        When the task is canceled, the request is canceled, too. The loop still collects the
        request, whose buffers are busy until request.done().
        """
        if self._status is None:
            ended = self._session._watcher(asyncio.get_running_loop()).add(self, Waiting(local_iteration, members=members))
            try:
                await asyncio.shield(ended)
            except asyncio.CancelledError:
                self._cancel_if_possible()
                raise
        return self._end()

    def cancel(self) -> None:
        """Asks that the request end as Canceled; wait for it in any case. One that has ended is left alone.

        One that is in an exchange already ends in the ordinary way. Does not block. Raises DaemonGone and Limit.
        """
        if self._status is None:
            try:
                self._session._handle.call(library().pace_request_cancel, self._raw)
            except HandleError:
                pass  # It has been collected meanwhile.

    def ready(self, elements: int) -> None:
        """For an average with an order: this many elements of its buffers are ready and will not be
        written again.

        Does not block. Raises Invalid, and Limit when the daemon has not taken the last 64 calls yet.
        """
        if not 0 <= elements < 2 ** 64:
            raise Invalid(f"elements: {elements} is no count of elements", "elements")
        self._session._handle.call(library().pace_request_ready, self._raw, elements)

    def _device(self) -> Optional[_abi.pace_device]:
        return self._slices[0].buffer._device if self._slices else None

    def _cancel_if_possible(self) -> None:
        try:
            self.cancel()
        except PaceError:
            pass  # It ends by itself: the daemon is gone, or does not read.

    def _end(self) -> Info:
        if self._status != _abi.PACE_OK or self._info is None:
            raise error_of(self._status or 0, self._message, self._argument, self._info)
        return self._info

    def _collect(self, timeout_ms: int, how: Waiting) -> Optional[str]:
        """Waits once. A text, which may say for whom it waits, when the request is in flight still; None when it has ended."""
        raw = _abi.pace_request_info(struct_size=ctypes.sizeof(_abi.pace_request_info))
        error = _abi.pace_error()
        status = self._session._handle.status(library().pace_request_wait, self._raw, timeout_ms, ctypes.byref(how.options),
                                              ctypes.byref(raw), ctypes.byref(error))
        if raw.status != _abi.PACE_PENDING:
            self._settle(raw, how, error)
            return None
        how.is_queued = status == _abi.PACE_PENDING
        if status in _TRY_AGAIN:
            return str(error.message.decode(errors="replace"))
        if status == _abi.PACE_E_HANDLE and self._session._handle.is_ours:
            self._session._await_settled(self)  # Another thread has collected it, and will set its end in a moment.
            return None
        raise error_from(status, error)

    def _settle(self, raw: _abi.pace_request_info, how: Waiting, error: _abi.pace_error) -> None:
        if raw.status != _abi.PACE_OK:
            self._argument = error.argument.decode(errors="replace")
            self._message = error.message.decode(errors="replace")
        self._info = info_of(raw, how.members)
        self._session._forget(self, raw.status)
        self._slices = []
