"""Progress: how a training goes, told to those who watch it."""

import time
from typing import Any, Optional, Tuple

import pace

EVERY_SECONDS = 1.0
# A loop's steps are told alone when the body has told no loss for so many seconds. The library
# passes on one report in a tenth of a second.
ALONE_SECONDS = 2.0


class Progress:
    """The latest loss, samples a second since it was told last, and the loop's steps. Threads: the trainer's."""

    def __init__(self) -> None:
        self._samples = 0
        self._told = time.monotonic()
        self._steps: Optional[Tuple[int, int]] = None
        self._steps_told = float("-inf")

    def add(self, session: pace.Session, loss: Any, samples: Optional[int]) -> None:
        """Tells at most once a second: only then is a loss on a GPU waited for."""
        self._samples += samples or 0
        seconds = time.monotonic() - self._told
        if seconds < EVERY_SECONDS:
            return
        rate = self._samples / seconds if self._samples else None
        session.report(None if loss is None else float(loss), rate, steps=self._steps)
        self._samples = 0
        self._told = self._steps_told = time.monotonic()

    def move_to(self, session: pace.Session, done: int, total: int) -> None:
        """The loop has made `done` steps of `total`."""
        self._steps = (done, total)
        if time.monotonic() - self._steps_told >= ALONE_SECONDS:
            session.report(steps=self._steps)
            self._steps_told = time.monotonic()
