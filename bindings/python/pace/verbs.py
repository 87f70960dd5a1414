"""Verbs: what a worker does with its buffers. Each begins an operation and gives a Request; `.wait()` makes it blocking."""

import ctypes
from typing import TYPE_CHECKING, Any, List, Optional

from pace import _abi
from pace._library import library
from pace.buffer import Buffer, Operand, slices_of
from pace.errors import Invalid
from pace.request import Request
from pace.types import stream_address

if TYPE_CHECKING:
    from pace.buffer import Slice
    from pace.handle import Handle

_ORDERS = {None: _abi.PACE_ORDER_DEFAULT, "forward": _abi.PACE_ORDER_FORWARD, "backward": _abi.PACE_ORDER_BACKWARD}
_OPS = {"mean": _abi.PACE_OP_MEAN, "sum": _abi.PACE_OP_SUM}
_UINT32_END = 2 ** 32
_UINT64_END = 2 ** 64


class Verbs:
    """The verbs of a Session.

    `buffers` is a Buffer, a Slice (`buffer[10:20]`), or a list of them, which count as one vector. All workers give equal
    types and lengths. The elements must stay untouched until the request has ended. `results`: where the result goes, one
    slice for each; without it, in place. `stream`: for buffers on a GPU, the stream that makes
    their contents. `user_data`: any number; the Info tells it. No verb blocks, unless the session
    has to reconnect, which takes at most connect_ms. All raise Invalid, Handle, Verb (it does not
    fit the policy), Limit (64 requests are in flight or not collected), and, to reconnect, what
    Session() raises. Threads: any.
    """

    _handle: "Handle"

    def average(self, buffers: Operand, *, iteration: int = 0, results: Optional[Operand] = None, order: Optional[str] = None,
                keep_local: bool = False, user_data: int = 0, stream: Any = None) -> Request:
        """Averages parameters over a group of ready workers. `iteration` is this worker's own count; the Info has the group's.

        `order` "forward" or "backward": Request.ready() tells how many elements are ready.
        `keep_local`: the trainer goes on with its steps, and its changes meanwhile are kept; see
        pace_average_options in pace.h.
        """
        options = _abi.pace_average_options(order=_choice(_ORDERS, order, "order"), keep_local=bool(keep_local))
        return self._begin("pace_average", buffers, options, iteration, user_data, stream, results)

    def reduce(self, buffers: Operand, *, op: str = "mean", iteration: int = 0, results: Optional[Operand] = None,
               user_data: int = 0, stream: Any = None) -> Request:
        """Reduces gradients over all workers, to their "mean" or "sum"; all get bit-identical results."""
        options = _abi.pace_reduce_options(op=_choice(_OPS, op, "op"))
        return self._begin("pace_reduce", buffers, options, iteration, user_data, stream, results)

    def broadcast(self, buffers: Operand, *, root: int = 0, user_data: int = 0, stream: Any = None) -> Request:
        """Gives everyone the buffers of worker `root`; a newcomer gets those of a healthy worker.
        The Info's iteration says which step."""
        options = _abi.pace_broadcast_options(root=_number(root, _UINT32_END, "root"))
        return self._begin("pace_broadcast", buffers, options, 0, user_data, stream)

    def sync(self, buffers: Operand, *, results: Optional[Operand] = None, user_data: int = 0, stream: Any = None) -> Request:
        """Averages over all workers with equal weights, whatever the policy."""
        return self._begin("pace_sync", buffers, _abi.pace_sync_options(), 0, user_data, stream, results)

    def barrier(self, *, user_data: int = 0) -> Request:
        """Ends when every worker has called it."""
        return self._begin("pace_barrier", None, _abi.pace_barrier_options(), 0, user_data)

    def push(self, buffers: Operand, iteration: int, *, first: int = 0, entries: Optional[int] = None, user_data: int = 0,
             stream: Any = None) -> Request:
        """Adds this worker's update of step `iteration` to the served model, from element `first` on.

        With `entries` the update is sparse: the buffers are two, indices (u32, rising strictly) and values (f32), and so many of
        each count.
        """
        options = _abi.pace_push_options(sparse=entries is not None, entries=_number(entries or 0, _UINT64_END, "entries"),
                                         first=_number(first, _UINT64_END, "first"))
        return self._begin("pace_push", buffers, options, iteration, user_data, stream)

    def pull(self, buffers: Operand, iteration: int, *, first: int = 0, user_data: int = 0, stream: Any = None) -> Request:
        """Fills the buffers with the served model, from element `first` on, for this worker's step `iteration`."""
        options = _abi.pace_pull_options(first=_number(first, _UINT64_END, "first"))
        return self._begin("pace_pull", buffers, options, iteration, user_data, stream)

    def checkpoint(self, *, user_data: int = 0) -> Request:
        """Has the daemons save the served model to their disks; ends when that is durable."""
        return self._begin("pace_checkpoint", None, _abi.pace_checkpoint_options(), 0, user_data)

    def residual_save(self, buffers: Operand, *, user_data: int = 0, stream: Any = None) -> Request:
        """Writes what a top-k compression still owes to later rounds into f32 buffers, one for each
        buffer of the reduce."""
        return self._begin("pace_residual_save", buffers, _abi.pace_residual_options(), 0, user_data, stream)

    def residual_load(self, buffers: Operand, *, user_data: int = 0, stream: Any = None) -> Request:
        """Adds what residual_save() wrote to what is owed."""
        return self._begin("pace_residual_load", buffers, _abi.pace_residual_options(), 0, user_data, stream)

    def announce(self, iteration: int) -> None:
        """Says at the start of a step that average() with this iteration comes next, so that its group forms meanwhile."""
        self._handle.call(library().pace_announce, _number(iteration, _UINT64_END, "iteration"))

    def withdraw(self) -> None:
        """Takes the announcement back."""
        self._handle.call(library().pace_withdraw)

    def _stream_of(self, buffer: Buffer) -> Any:
        """The stream that makes the contents of this buffer, if the caller names none. None: the
        device's default stream."""
        return None

    def _remember(self, raw: _abi.pace_request, slices: "List[Slice]") -> Request:
        raise NotImplementedError

    def _begin(self, name: str, buffers: Optional[Operand], options: Any, iteration: int = 0, user_data: int = 0,
               stream: Any = None, results: Optional[Operand] = None) -> Request:
        call = options.call
        call.struct_size = ctypes.sizeof(options)
        call.iteration = _number(iteration, _UINT64_END, "iteration")
        call.user_data = _number(user_data, _UINT64_END, "user_data")
        kept: "List[Slice]" = []
        arguments: List[Any] = []
        if buffers is not None:
            array, count, kept = slices_of(buffers, "slices")
            arguments = [ctypes.byref(array), count]
            if stream is None and kept:
                stream = self._stream_of(kept[0].buffer)
            if stream is not None and kept:
                call.device = kept[0].buffer._device
                call.stream = stream_address(stream)
        if results is not None:
            result_array, result_count, result_slices = slices_of(results, "results")
            call.results = ctypes.cast(result_array, ctypes.POINTER(_abi.pace_slice))
            call.result_count = result_count
            kept = kept + result_slices
        raw = _abi.pace_request()
        self._handle.call(getattr(library(), name), *arguments, ctypes.byref(options), ctypes.byref(raw))
        return self._remember(raw, kept)


def _number(value: int, end: int, argument: str) -> int:
    try:
        number = int(value.__index__())
    except AttributeError:
        raise Invalid(f"{argument}: {value!r} is no whole number", argument) from None
    if not 0 <= number < end:
        raise Invalid(f"{argument}: {value} is out of range; give 0 to {end - 1}", argument)
    return number


def _choice(table: Any, word: Any, argument: str) -> int:
    if word not in table:
        words = ", ".join(repr(known) for known in table)
        raise Invalid(f"{argument}: {word!r} is none of its words; give one of {words}", argument)
    return int(table[word])
