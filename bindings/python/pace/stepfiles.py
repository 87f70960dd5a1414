"""Step files: a training's checkpoints, the files step-N of one folder, written whole or not at all."""

import os
import pathlib
import re
import time
from typing import IO, Any, Callable, List, Optional

KEPT = 2


class StepFiles:
    """The files step-N`suffix` of one folder. Each worker saves when the newest file is older than
    `every` seconds plus a tenth for each rank. The worker of the lowest rank present therefore
    saves, and the others do not.
    """

    def __init__(self, folder: str, suffix: str, every: float, rank: int):
        self._folder = pathlib.Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._suffix = suffix
        self._name = re.compile(rf"step-(\d+){re.escape(suffix)}")
        self._rank = rank
        self._patience = every * (1 + 0.1 * rank)
        self._began = time.time()

    def newest(self) -> Optional[pathlib.Path]:
        everything = self._all()
        return everything[-1] if everything else None

    def is_due(self) -> bool:
        newest = self.newest()
        last = self._began
        if newest is not None:
            try:
                last = max(last, newest.stat().st_mtime)
            except FileNotFoundError:
                pass  # Another worker has removed it: there is a newer one.
        return time.time() - last >= self._patience

    def save(self, step: int, write: Callable[[IO[Any]], None]) -> None:
        """Has `write(file)` write step-`step`, unless it is there, and removes all but the newest. Blocks for the disk. Raises OSError."""
        path = self._folder / f"step-{step}{self._suffix}"
        if path.exists():
            return
        partial = self._folder / f".{path.name}.{self._rank}.part"
        try:
            with open(partial, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        finally:
            if partial.exists():
                partial.unlink()
        for old in self._all()[:-KEPT]:
            try:
                old.unlink()
            except FileNotFoundError:
                pass  # Another worker has removed it.

    def _all(self) -> List[pathlib.Path]:
        matches = [(self._name.fullmatch(path.name), path) for path in self._folder.iterdir()]
        return [path for _, path in sorted((int(match.group(1)), path) for match, path in matches if match)]
