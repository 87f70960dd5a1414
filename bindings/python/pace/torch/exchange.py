"""Exchange: the two things that collectives are made of, sums and broadcasts, over one job of Pace.

Sums of floating-point numbers are pace_reduce's. All else is gathered by broadcasts, one from each rank, which carry bytes: so
integers, booleans, infinities and NaNs arrive as they were, to the last bit.
"""

import threading
from typing import Callable, List, Optional, Sequence

import torch

import pace
from pace.torch.staging import Staging, aligned, bytes_of
from pace.torch.work import Completion, Work

_WORD = torch.float32  # as which bytes travel
_WORD_BYTES = 4


class Plan:
    """Verbs to call, in this order, and what to do with their results."""

    def __init__(self, calls: List[Callable[[], pace.Request]], finish: Callable[[], None]):
        self.calls = calls
        self.finish = finish


class Exchange:
    """Threads: any; collectives begin one after another. Blocks for copies to the daemon's memory, and while 48 requests are on
    their way. Raises the group's fault, when it has one, and the faults of verbs."""

    def __init__(self, session: pace.Session, rank: int, size: int, timeout_s: float):
        self.rank = rank
        self.size = size
        self._session = session
        self._staging = Staging(session)
        self._completion = Completion(size, timeout_s)
        self._lock = threading.Lock()

    def sum(self, tensors: Sequence[torch.Tensor], op: str, give: Callable[[List[torch.Tensor]], None]) -> Plan:
        """The "sum" or "mean" of tensors of one floating-point type. `give` gets the results as vectors, which are void after it."""
        sizes = [tensor.numel() for tensor in tensors]
        piece = self._staging.take(tensors[0].dtype, sum(sizes))
        for part, tensor in zip(torch.split(piece.flat, sizes), tensors):
            part.view(tensor.shape).copy_(tensor.detach())

        def finish() -> None:
            give(list(torch.split(piece.flat, sizes)))
            self._staging.give(piece)
        return Plan([lambda: self._session.reduce(piece.operand, op=op)] if piece.count else [], finish)

    def gather(self, own: Optional[torch.Tensor], lengths: Sequence[int], give: Callable[[List[torch.Tensor]], None]) -> Plan:
        """Everyone's bytes: `lengths` says how many each rank gives, `own` is what this one does. `give` gets them by rank, void
        after it."""
        begins, total = aligned(lengths)
        piece = self._staging.take(_WORD, total // _WORD_BYTES)
        raw = piece.flat.view(torch.uint8)
        parts = [raw[begin:begin + length] for begin, length in zip(begins, lengths)]
        if own is not None:
            parts[self.rank].copy_(bytes_of(own))

        def call_of(root: int) -> Callable[[], pace.Request]:
            first = begins[root] // _WORD_BYTES
            words = piece.buffer[first:first + (lengths[root] + _WORD_BYTES - 1) // _WORD_BYTES]
            return lambda: self._session.broadcast(words, root=root)

        def finish() -> None:
            give(parts)
            self._staging.give(piece)
        return Plan([call_of(root) for root, length in enumerate(lengths) if length], finish)

    def barrier(self) -> Plan:
        return Plan([self._session.barrier], lambda: None)

    def run(self, plans: Sequence[Plan], results: Sequence[torch.Tensor]) -> Work:
        """Begins all verbs of these plans; the work ends with the last of them, and has these results."""
        work = self._completion.work(results)
        calls = [call for plan in plans for call in plan.calls]

        def finish() -> None:
            for plan in plans:
                plan.finish()
        if not calls:
            with torch.no_grad():
                finish()
            work.complete()
        with self._lock:
            for position, call in enumerate(calls, 1):
                self._completion.begin(call, work, finish if position == len(calls) else None)
        return work

    def close(self) -> None:
        """Leaves the job in order. Blocks at most some seconds."""
        self._completion.close(self._session)
