"""Session: this process as one worker of a job."""

import asyncio
import ctypes
import os
import threading
import weakref
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union

from pace import _abi, launch
from pace._library import call, library, text
from pace.buffer import Buffer, Slice
from pace.errors import Closed, Invalid, Timeout, error_from
from pace.errors import Handle as HandleError
from pace.handle import Handle
from pace.info import SessionInfo, session_info_of
from pace.memory import Imported
from pace.options import encode, merge
from pace.request import _TRY_AGAIN, Deadline, Request, Waiting
from pace.types import device_of, type_of, type_of_dlpack
from pace.verbs import Verbs
from pace.watcher import Watcher

_FORMATS = {"f": "f32", "d": "f64", "e": "f16", "I": "u32", "L": "u32"}
_LOOK_SECONDS = 0.5

Shape = Union[int, Sequence[int]]


class Session(Verbs):
    """A worker's membership in a job. Threads: any; calls on one session are serialized inside.

    `job` and `policy` must be given; `rank` and `world` come from the launcher's environment (pace.launch) when they are
    None, and `run` and `endpoint` from where libpace finds them (PACE_RUN_ID and what launchers say; PACE_ENDPOINT, else this
    node's daemon). `connect_ms` bounds the wait for the daemon, also whenever the session reconnects. `resume`: this worker
    goes on with the run of this identity though all its workers have died. Options of the job are keywords, group_size=3
    for group.size, or `options={"group.size": 3}`; all workers give the same.

    Blocks until the job is joined, at most connect_ms; Ctrl-C ends that. Raises Invalid (an argument or option, named), NotFound
    or DaemonGone (no daemon), Version, NoController, Taken, Mismatch, Denied, Limit, Memory, Disk.

    `with Session(...) as session:` leaves the job in order at its end. When an exception ends it, the session is freed
    without leaving, as if the worker had died: the job goes on, and keeps what a worker that returns would need. So does a
    session that is garbage collected. A forked child must not use it, and is told so (Invalid).
    """

    def __init__(self, job: str, policy: str, *, rank: Optional[int] = None, world: Optional[int] = None,
                 endpoint: Optional[str] = None, run: Optional[str] = None, connect_ms: int = 10000, resume: bool = False,
                 options: Optional[Mapping[str, Any]] = None, **keywords: Any):
        rank, world = _place(rank, world)
        array, alive = encode(merge(options, keywords))
        raw = _abi.pace_session_options(
            struct_size=ctypes.sizeof(_abi.pace_session_options), rank=rank, world=world, connect_ms=connect_ms,
            flags=_abi.PACE_SESSION_SIGNALS | (_abi.PACE_SESSION_RESUME if resume else 0), endpoint=text(endpoint, "endpoint"),
            job=text(job, "job"), policy=text(policy, "policy"), run=text(run, "run"),
            options=ctypes.cast(array, ctypes.POINTER(_abi.pace_option)), option_count=len(array))
        session = ctypes.c_void_p()
        call(library().pace_session_open, ctypes.byref(raw), ctypes.byref(session))
        del alive  # What the options point to was needed until here.
        self._handle = Handle(session.value or 0)
        # Not at the end of the process: other threads may be within a call then, and the kernel
        # frees everything.
        weakref.finalize(self, self._handle.free).atexit = False
        self._requests: Dict[int, Request] = {}
        self._changed = threading.Condition(threading.RLock())
        self._watchers: List[Watcher] = []

    def __repr__(self) -> str:
        return f"<pace.Session {'closed' if self._handle.is_closed else 'open'}>"

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is None:
            self.close()
        else:
            self.free()

    def close(self, timeout: float = 1.0) -> None:
        """Leaves the job in order, and frees the session. Closing twice does nothing. Blocks and raises as leave()."""
        if not self._handle.is_closed:
            try:
                self.leave(timeout)
            except (Timeout, Closed):
                pass  # The daemon has been told; or it has left before.
            finally:
                self.free()

    def leave(self, timeout: Optional[float] = 1.0) -> None:
        """Leaves the job: the others go on without this worker at once. Everything but free() and close() fails then.

        Blocks at most `timeout` seconds. Raises Timeout (the daemon has been told, and has not answered in time), DaemonGone (it
        cannot be told: the worker counts as one that died), and Closed.
        """
        self._handle.call(library().pace_session_leave, Deadline(timeout).left_ms())

    def free(self) -> None:
        """Frees the session; without leave() before, as if the worker had died. Waits of other threads end as Closed.

        Buffers are freed with it; arrays over them stay good. Does not block.
        """
        self._handle.free()
        for watcher in list(self._watchers):
            try:
                is_here = asyncio.get_running_loop() is watcher.loop
            except RuntimeError:
                is_here = False
            if is_here or watcher.loop.is_closed():
                watcher.stop()
            else:
                watcher.loop.call_soon_threadsafe(watcher.stop)

    @property
    def info(self) -> SessionInfo:
        """What the session tells: rank, world, run_state, generation, job, node, run, run_began."""
        raw = _abi.pace_session_info(struct_size=ctypes.sizeof(_abi.pace_session_info))
        self._handle.call(library().pace_session_get_info, ctypes.byref(raw))
        return session_info_of(raw)

    def fileno(self) -> int:
        """A descriptor that polls readable while ended requests wait to be collected. The session's own; lives as it does."""
        descriptor = ctypes.c_int32()
        self._handle.call(library().pace_session_get_fd, ctypes.byref(descriptor))
        return descriptor.value

    def buffer(self, dtype: Any, shape: Shape, *, device: Any = None) -> Buffer:
        """Zeroed memory that the daemon shares: "f32", "f64", "f16", "bf16" or "u32", of a shape or a count.

        `device`: "cpu", or "cuda:0". If an earlier process of this rank died on this node, the
        buffer has that process's contents (Buffer.info.restored). Blocks for one exchange with the
        daemon. Raises Limit, Memory, Unsupported, NotFound (no such GPU).
        """
        options = _abi.pace_buffer_options(source=_abi.PACE_NEW, fd=-1, device=device_of(device))
        return self._new_buffer(type_of(dtype).number, _shape(shape), options)

    def import_array(self, array: Any, *, dtype: Any = None) -> Buffer:
        """A buffer in an array's own memory: of NumPy, PyTorch, CuPy, or with the buffer protocol, contiguous and writable.

        Keeps the array alive. Memory of the host is copied to the daemon at each call, and back when the request is collected.
        `dtype` "bf16" takes 16-bit numbers as bfloat16. Blocks and raises as buffer().
        """
        imported = Imported(array)
        if dtype is not None:
            kind = type_of(dtype)
        elif imported.dlpack_type is not None:
            kind = type_of_dlpack(*imported.dlpack_type)
        else:
            kind = type_of(_FORMATS.get(imported.format.lstrip("@<="), imported.format))
        if imported.nbytes % kind.bytes:
            raise Invalid(f"array: {imported.nbytes} bytes are no whole number of {kind.name}", "type")
        shape = imported.shape
        count = imported.nbytes // kind.bytes
        options = _abi.pace_buffer_options(source=_abi.PACE_POINTER, fd=-1, device=imported.device, pointer=imported.address,
                                           flags=_abi.PACE_MAY_STAGE if imported.device.type == _abi.PACE_DEVICE_CPU
                                           or imported.device.type == 0 else 0)
        return self._new_buffer(kind.number, shape if _count(shape) == count else (count,), options, imported)

    def import_fd(self, fd: int, dtype: Any, shape: Shape, *, device: Any = None) -> Buffer:
        """A buffer in the memory of a descriptor, without copies: one of memfd(), or of a GPU's exported memory.

        The descriptor is duplicated, and stays the caller's. Blocks and raises as buffer().
        """
        options = _abi.pace_buffer_options(source=_abi.PACE_FD, fd=fd, device=device_of(device))
        return self._new_buffer(type_of(dtype).number, _shape(shape), options)

    def next(self, timeout: Optional[float] = None, *, local_iteration: int = 0) -> Request:
        """Waits for the request that ends first, collects it and returns it. Its wait() then tells
        its end at once.

        `timeout` in seconds: None waits for ever. Raises Timeout when it has passed, and NotFound, at once, when no request is in
        flight or waits to be collected. Ctrl-C and other threads as for Request.wait().
        """
        return self._first(library().pace_session_next, (), timeout, local_iteration)

    def wait_any(self, requests: Sequence[Request], timeout: Optional[float] = None, *, local_iteration: int = 0) -> Request:
        """As next(), of these requests of the session alone (1 to 64); others stay as they are.

        Gives one that has been collected already at once. Raises Timeout, and Invalid when there are none.
        """
        collected = next((request for request in requests if request._status is not None), None)
        if collected is not None:
            return collected
        wanted = (_abi.pace_request * max(len(requests), 1))(*(request._raw for request in requests))
        try:
            return self._first(library().pace_request_wait_any, (wanted, len(requests)), timeout, local_iteration)
        except HandleError:
            for request in requests:  # Another thread has collected one meanwhile.
                if request.done():
                    return request
            raise

    def _first(self, function: Any, arguments: Tuple[Any, ...], timeout: Optional[float], local_iteration: int) -> Request:
        """Waits by a function that collects one of several requests, and settles that one."""
        deadline = Deadline(timeout)
        how = Waiting(local_iteration)
        while True:
            left_ms = deadline.left_ms()
            raw_request, error = _abi.pace_request(), _abi.pace_error()
            raw = _abi.pace_request_info(struct_size=ctypes.sizeof(_abi.pace_request_info))
            status = self._handle.status(function, *arguments, left_ms, ctypes.byref(how.options),
                                         ctypes.byref(raw_request), ctypes.byref(raw), ctypes.byref(error))
            if raw.status != _abi.PACE_PENDING:
                request = self._find(raw_request.id)
                request._settle(raw, how, error)
                return request
            if status not in _TRY_AGAIN:
                raise error_from(status, error)
            if left_ms == 0:
                raise Timeout(error.message.decode(errors="replace"))

    def report(self, loss: Optional[float] = None, samples_per_second: Optional[float] = None,
               steps: Optional[Tuple[int, int]] = None) -> None:
        """Tells those who watch (`pacectl status`, its metrics) how the training goes; nothing that Pace does depends on it.

        `steps`: how many the training has made, and is to make in all; the time left follows from
        them. It may be called at each step. If there are several calls within a tenth of a second,
        only the first is told. Does not block. Raises Invalid when nothing is given, or a rate or a
        total that is not above 0.
        """
        done, total = steps or (0, 0)
        progress = _abi.pace_progress(
            struct_size=ctypes.sizeof(_abi.pace_progress), loss=loss or 0.0, samples_per_s=samples_per_second or 0.0,
            steps_done=done, steps_total=total,
            flags=(0 if loss is None else _abi.PACE_PROGRESS_LOSS)
            | (0 if samples_per_second is None else _abi.PACE_PROGRESS_RATE)
            | (0 if steps is None else _abi.PACE_PROGRESS_STEPS))
        self._handle.call(library().pace_session_report, ctypes.byref(progress))

    def _new_buffer(self, number: int, shape: Tuple[int, ...], options: _abi.pace_buffer_options,
                    imported: Optional[Imported] = None) -> Buffer:
        options.struct_size = ctypes.sizeof(options)
        raw, address = _abi.pace_buffer(), ctypes.c_void_p()
        self._handle.call(library().pace_buffer_create, number, _count(shape), ctypes.byref(options), ctypes.byref(raw),
                          ctypes.byref(address))
        return Buffer(self._handle, raw, shape, imported)

    def _remember(self, raw: _abi.pace_request, slices: List[Slice]) -> Request:
        request = Request(self, raw, slices)
        with self._changed:
            self._requests[raw.id] = request
            self._changed.notify_all()
        return request

    def _find(self, number: int) -> Request:
        """The request of that number. Another thread may have begun it, and not have registered it
        yet."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._requests)
            return self._requests[number]

    def _forget(self, request: Request, status: int) -> None:
        with self._changed:
            request._status = status
            self._requests.pop(request._raw.id, None)
            self._changed.notify_all()

    def _await_settled(self, request: Request) -> None:
        with self._changed:
            while not self._changed.wait_for(lambda: request._status is not None, _LOOK_SECONDS):
                if self._handle.is_closed:
                    raise Closed("session: it has been closed while this request was in flight; open another one", "session")

    def _watcher(self, loop: asyncio.AbstractEventLoop) -> Watcher:
        for watcher in list(self._watchers):
            if watcher.loop.is_closed():
                watcher.stop()
            elif watcher.loop is loop:
                return watcher
        self._watchers.append(Watcher(self, loop))
        return self._watchers[-1]

    def _drop_watcher(self, watcher: Watcher) -> None:
        self._watchers.remove(watcher)


def memfd(dtype: Any, shape: Shape) -> int:
    """A descriptor of zeroed memory that import_fd() takes, sealed as pace.h asks. The caller closes it. Raises OSError."""
    import fcntl
    page = os.sysconf("SC_PAGE_SIZE")
    size = type_of(dtype).bytes * _count(_shape(shape))
    descriptor = os.memfd_create("pace-trainer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, (size + page - 1) // page * page)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _place(rank: Optional[int], world: Optional[int]) -> Tuple[int, int]:
    if rank is None or world is None:
        launched = launch.detect()
        if launched is None:
            missing = "rank" if rank is None else "world"
            raise Invalid(f"{missing}: none was given, and no launcher's variables are set; give rank and world, or start the "
                          "workers by python -m pace run, torchrun, srun or mpirun", missing)
        rank = launched.rank if rank is None else rank
        world = launched.world if world is None else world
    for name, number in (("rank", rank), ("world", world)):
        if not 0 <= number < 2 ** 32:
            raise Invalid(f"{name}: {number} is out of range; rank is 0 to world - 1, and world 1 to 65536", name)
    return rank, world


def _shape(shape: Shape) -> Tuple[int, ...]:
    try:
        lengths = tuple(int(length.__index__()) for length in ([shape] if isinstance(shape, int) else shape))
    except (TypeError, AttributeError):
        raise Invalid(f"shape: {shape!r} is none; give a count of elements, or a tuple of lengths", "count") from None
    if any(length < 0 for length in lengths) or _count(lengths) >= 2 ** 64:
        raise Invalid(f"shape: {shape!r} has a length out of range", "count")
    return lengths


def _count(shape: Tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count
