"""Checkpoints: a training's state in files of NumPy, from which a job goes on when all its workers
have ended."""

import json
from typing import Any, List, Optional, Sequence, Tuple

import numpy

import pace
from pace.jax.layout import Layout
from pace.stepfiles import StepFiles


class Checkpoints:
    """The files step-N.npz of one folder: the arrays leaf0, leaf1, ... of the tree's leaves, their bits, and what they are."""

    def __init__(self, folder: str, every: float, rank: int):
        self._files = StepFiles(folder, ".npz", every, rank)

    def load(self, layout: Layout) -> Optional[Tuple[int, List[Any]]]:
        """Step and leaves of the newest checkpoint; None when there is none. Raises pace.Invalid when its leaves are others."""
        newest = self._files.newest()
        if newest is None:
            return None
        with numpy.load(newest, allow_pickle=False) as saved:
            about = json.loads(saved["about"].tobytes())
            if about["leaves"] != _described(layout):
                raise pace.Invalid(f"checkpoint: {newest} has leaves of other shapes or types than this program's state; name another "
                                   "folder", "checkpoint")
            leaves = [saved[f"leaf{position}"].view(leaf.dtype).reshape(leaf.shape) for position, leaf in enumerate(layout.leaves)]
        return int(about["step"]), leaves

    def save_if_due(self, step: int, leaves: Sequence[Any], layout: Layout) -> None:
        if self._files.is_due():
            self.save(step, leaves, layout)

    def save(self, step: int, leaves: Sequence[Any], layout: Layout) -> None:
        """Writes the file of this step, if it is not there. Blocks for the disk. Raises OSError."""
        arrays = {f"leaf{position}": numpy.ascontiguousarray(leaf).reshape(-1).view(numpy.uint8) for position, leaf in enumerate(leaves)}
        about = json.dumps({"step": step, "leaves": _described(layout)})
        arrays["about"] = numpy.frombuffer(about.encode(), numpy.uint8)
        self._files.save(step, lambda file: numpy.savez(file, **arrays))


def _described(layout: Layout) -> List[Any]:
    return [[list(leaf.shape), leaf.dtype.name] for leaf in layout.leaves]
