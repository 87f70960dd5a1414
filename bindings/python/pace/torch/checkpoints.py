"""Checkpoints: a training's state in files, from which a job goes on whose workers have all ended."""

import os
import pathlib
import re
import time
from typing import Any, List, Optional

import torch

import pace
from pace.torch.data_parallel import DataParallel
from pace.torch.optimizer import Optimizer

KEPT = 2
_NAME = re.compile(r"step-(\d+)\.pt")


class Checkpoints:
    """The files step-N.pt of one folder. Each worker saves when the newest is older than `every` seconds and a tenth for each rank:
    so the worker of the lowest rank that is there does it, and the others do not.
    """

    def __init__(self, folder: str, every: float, model: DataParallel, optimizer: Optimizer, scheduler: Any):
        self._folder = pathlib.Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._model = model
        self._optimizer = optimizer
        self._scheduler = scheduler
        self._patience = every * (1 + 0.1 * model.job.place.rank)
        self._began = time.time()

    def load(self, info: pace.SessionInfo) -> None:
        """Takes the newest checkpoint into model, optimizer and schedule, unless a run is under way that gives a newer model."""
        newest = self._newest()
        if newest is None or info.run_state == "under-way":
            return
        saved = torch.load(newest, map_location="cpu")
        self._model.module.load_state_dict(saved["model"])
        self._optimizer.inner.load_state_dict(saved["optimizer"])
        if self._scheduler is not None and saved["scheduler"] is not None:
            self._scheduler.load_state_dict(saved["scheduler"])
        self._model.job.step = int(saved["step"])

    def save_if_due(self, step: int) -> None:
        newest = self._newest()
        last = self._began
        if newest is not None:
            try:
                last = max(last, newest.stat().st_mtime)
            except FileNotFoundError:
                pass  # Another worker has removed it: there is a newer one.
        if time.time() - last >= self._patience:
            self.save(step)

    def save(self, step: int) -> None:
        """Writes the file whole or not at all, and removes all but the newest ones. Blocks for the disk. Raises OSError."""
        path = self._folder / f"step-{step}.pt"
        if path.exists():
            return
        partial = self._folder / f".{path.name}.{self._model.job.place.rank}.part"
        state = {"step": step, "model": self._model.module.state_dict(), "optimizer": self._optimizer.inner.state_dict(),
                 "scheduler": None if self._scheduler is None else self._scheduler.state_dict()}
        try:
            with open(partial, "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        for old in self._all()[:-KEPT]:
            old.unlink(missing_ok=True)

    def _all(self) -> List[pathlib.Path]:
        found = [(int(match.group(1)), path) for path in self._folder.iterdir() if (match := _NAME.fullmatch(path.name))]
        return [path for _, path in sorted(found)]

    def _newest(self) -> Optional[pathlib.Path]:
        everything = self._all()
        return everything[-1] if everything else None
