"""Store: a pytree's leaves in buffers of the daemon's. JAX's arrays do not change, so contents are copied in and out."""

from typing import Any, Dict, List, Sequence

import numpy

import pace
from pace.jax.layout import STEP_BYTES, WORDS, Layout


# JAX takes memory of NumPy without another copy if the memory is aligned to this.
_ALIGNMENT = 64


class Store:
    """The buffers of one layout. Threads: one at a time. Making it blocks for one exchange with the daemon for each buffer.

    `buffers` hold the leaves that Pace sums, `everything` the words, too. Nobody writes or reads while a request names them.
    """

    def __init__(self, session: pace.Session, layout: Layout):
        self.layout = layout
        self._flats: Dict[str, Any] = {}
        self.buffers: List[pace.Buffer] = []
        for kind, count in layout.totals.items():
            buffer = session.buffer(kind, max(count, 1))
            self.buffers.append(buffer)
            dtype = next(leaf.dtype for leaf in layout.leaves if leaf.kind == kind)
            self._flats[kind] = buffer.numpy().view(dtype)
        # As f32: a broadcast gives all bits, whatever number they would be.
        words = session.buffer("f32", layout.words_bytes // 4)
        self._flats[WORDS] = words.numpy().view(numpy.uint8)
        self.everything = [*self.buffers, words]

    @property
    def is_restored(self) -> bool:
        """Whether it holds what an earlier process of this rank has left."""
        return all(buffer.info.restored for buffer in self.everything)

    @property
    def step(self) -> int:
        """The step count that lies beside the leaves."""
        return int(self._flats[WORDS][:STEP_BYTES].view(numpy.int64)[0])

    @step.setter
    def step(self, step: int) -> None:
        self._flats[WORDS][:STEP_BYTES].view(numpy.int64)[0] = step

    def write(self, arrays: Sequence[Any]) -> None:
        """Copies the leaves in: arrays of NumPy, or of JAX on the host, which show their memory."""
        for leaf, array in zip(self.layout.leaves, arrays):
            contents = numpy.asarray(array)
            if leaf.kind == WORDS:
                contents = numpy.ascontiguousarray(contents).reshape(-1).view(numpy.uint8)
            self._flats[leaf.kind][leaf.first:leaf.first + leaf.length] = contents.reshape(-1)

    def read(self) -> List[Any]:
        """Copies the leaves out, as new arrays of NumPy."""
        arrays = []
        for leaf in self.layout.leaves:
            part = self._flats[leaf.kind][leaf.first:leaf.first + leaf.length]
            copied = _aligned(part.nbytes).view(part.dtype)
            copied[:] = part
            arrays.append(copied.view(leaf.dtype).reshape(leaf.shape))
        return arrays

    def read_summed(self, arrays: Sequence[Any]) -> List[Any]:
        """As read(), but the integers and truth values are those of `arrays` themselves."""
        return [array if leaf.kind != WORDS else own
                for leaf, array, own in zip(self.layout.leaves, self.read(), arrays)]


def _aligned(size: int) -> Any:
    room = numpy.empty(size + _ALIGNMENT, numpy.uint8)
    first = -room.ctypes.data % _ALIGNMENT
    return room[first:first + size]
