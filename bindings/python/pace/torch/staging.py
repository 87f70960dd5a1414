"""Staging: daemon's memory for tensors that lie elsewhere, from the call of a collective to its end."""

import threading
from typing import Dict, List, Sequence, Tuple

import torch

import pace
from pace.torch.memory import new_buffer

# Offsets at which an element of any type may begin: the widest, complex128, has so many bytes.
ALIGNMENT = 16
_CPU = torch.device("cpu")
_COUNT_MIN = 1024


class Piece:
    """Room for `count` elements, in a buffer that may have more."""

    def __init__(self, buffer: pace.Buffer, flat: torch.Tensor, count: int):
        self.buffer = buffer
        self.whole = flat
        self.count = count

    @property
    def flat(self) -> torch.Tensor:
        return self.whole[:self.count]

    @property
    def operand(self) -> pace.Slice:
        return self.buffer[:self.count]


class Staging:
    """Pieces that are taken and given back. Threads: any.

    Buffers have 2^n elements, and stay for later calls of take(): a training needs the same sizes
    at each step. The memory is therefore at most twice what was in use at one time. take() blocks
    for one exchange with the daemon when it has no buffer of that size.
    """

    def __init__(self, session: pace.Session):
        self._session = session
        self._lock = threading.Lock()
        self._free: Dict[Tuple[torch.dtype, int], List[Piece]] = {}

    def take(self, dtype: torch.dtype, count: int) -> Piece:
        room = max(_COUNT_MIN, 1 << (count - 1).bit_length())
        with self._lock:
            free = self._free.get((dtype, room))
            if free:
                old = free.pop()
                return Piece(old.buffer, old.whole, count)
        return Piece(*new_buffer(self._session, room, dtype, _CPU), count)

    def give(self, piece: Piece) -> None:
        with self._lock:
            self._free.setdefault((piece.whole.dtype, piece.whole.numel()), []).append(piece)


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's elements, row by row, as a vector of bytes: a view if they lie in this order,
    else a copy."""
    return tensor.detach().reshape(-1).contiguous().view(torch.uint8)


def put_bytes(tensor: torch.Tensor, raw: torch.Tensor) -> None:
    """The reverse of bytes_of(): `raw`, which begins at a multiple of ALIGNMENT, becomes the tensor's contents."""
    tensor.copy_(raw.view(tensor.dtype).view(tensor.shape))


def aligned(lengths: Sequence[int]) -> Tuple[List[int], int]:
    """Where parts of so many bytes begin, one after another, and how many bytes they take together."""
    begins, at = [], 0
    for length in lengths:
        begins.append(at)
        at += (length + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    return begins, at
