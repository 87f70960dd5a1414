"""Layout: where the leaves of a pytree lie in buffers of the daemon's. Pure."""

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy

import pace

_FLOATS = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}
WORDS = "words"
_ALIGNMENT = 8
STEP_BYTES = 8  # at the beginning of the words: a step count


class Leaf(NamedTuple):
    """`first` and `length` count elements in the buffer of a floating-point type, and bytes in the
    words."""

    shape: Tuple[int, ...]
    dtype: Any
    kind: str
    first: int
    length: int


class Layout:
    """Leaves of a floating-point type lie in one buffer for each type, in the order of the tree.
    Pace sums these buffers.

    Integers and truth values lie in the words, bit by bit: one more buffer, which broadcasts alone exchange. Raises pace.Invalid for
    a leaf of another type. `key` is equal for trees whose leaves agree in shapes and types.
    """

    def __init__(self, leaves: Sequence[Any], argument: str):
        self.leaves: List[Leaf] = []
        self.totals: Dict[str, int] = {}
        self.words_bytes = STEP_BYTES
        for leaf in leaves:
            shape, dtype = tuple(leaf.shape), numpy.dtype(leaf.dtype)
            kind = _kind_of(dtype, argument)
            count = int(numpy.prod(shape, dtype=numpy.int64))
            if kind == WORDS:
                self.leaves.append(Leaf(shape, dtype, kind, self.words_bytes, count * dtype.itemsize))
                self.words_bytes += -(-count * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
            else:
                first = self.totals.get(kind, 0)
                self.leaves.append(Leaf(shape, dtype, kind, first, count))
                self.totals[kind] = first + count
        self.key = tuple((leaf.shape, leaf.dtype.name) for leaf in self.leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def require_floats(self, argument: str, why: str) -> None:
        """Raises pace.Invalid when a leaf is of a type that Pace does not sum."""
        for position, leaf in enumerate(self.leaves):
            if leaf.kind == WORDS:
                raise pace.Invalid(f"{argument}: leaf {position} is of {leaf.dtype.name}, and {why}; leave it out, or convert it to "
                                   "float32", argument)

    def require_float32(self, argument: str) -> None:
        for position, leaf in enumerate(self.leaves):
            if leaf.kind != "f32":
                raise pace.Invalid(f"{argument}: leaf {position} is of {leaf.dtype.name}, and a parameter server keeps float32; convert "
                                   "it, or use another policy", argument)


def _kind_of(dtype: Any, argument: str) -> str:
    if dtype.name in _FLOATS:
        return _FLOATS[dtype.name]
    if dtype.kind in "iub":
        return WORDS
    raise pace.Invalid(f"{argument}: a leaf is of {dtype.name}; Pace takes float32, float64, float16, bfloat16, integers and truth "
                       "values", argument)
