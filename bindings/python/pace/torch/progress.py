"""Progress: how a training goes, told to those who watch it."""

import time
from typing import Any, Optional

import pace

EVERY_SECONDS = 1.0


class Progress:
    """The latest loss, and samples a second since it was told last. Threads: the trainer's."""

    def __init__(self) -> None:
        self._samples = 0
        self._told = time.monotonic()

    def add(self, session: pace.Session, loss: Any, samples: Optional[int]) -> None:
        """Tells at most once a second: only then is a loss on a GPU waited for."""
        self._samples += samples or 0
        seconds = time.monotonic() - self._told
        if seconds < EVERY_SECONDS:
            return
        session.report(None if loss is None else float(loss), self._samples / seconds if self._samples else None)
        self._samples = 0
        self._told = time.monotonic()
