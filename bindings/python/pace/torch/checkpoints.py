"""Checkpoints: a training's state in files, from which a job goes on when all its workers have
ended."""

from typing import Any

import torch

import pace
from pace.stepfiles import StepFiles
from pace.torch.data_parallel import DataParallel
from pace.torch.optimizer import Optimizer


class Checkpoints:
    """The files step-N.pt of one folder, with model, optimizer and schedule. StepFiles says which worker saves, and when."""

    def __init__(self, folder: str, every: float, model: DataParallel, optimizer: Optimizer, scheduler: Any):
        self._files = StepFiles(folder, ".pt", every, model.job.place.rank)
        self._model = model
        self._optimizer = optimizer
        self._scheduler = scheduler

    def load(self, info: pace.SessionInfo) -> None:
        """Takes the newest checkpoint into model, optimizer and schedule, unless a run is under way that gives a newer model."""
        newest = self._files.newest()
        if newest is None or info.run_state == "under-way":
            return
        saved = torch.load(newest, map_location="cpu")
        self._model.module.load_state_dict(saved["model"])
        self._optimizer.inner.load_state_dict(saved["optimizer"])
        if self._scheduler is not None and saved["scheduler"] is not None:
            self._scheduler.load_state_dict(saved["scheduler"])
        self._model.job.step = int(saved["step"])

    def save_if_due(self, step: int) -> None:
        if self._files.is_due():
            self.save(step)

    def save(self, step: int) -> None:
        """Writes the file of this step, if it is not there. Blocks for the disk. Raises OSError."""
        state = {"step": step, "model": self._model.module.state_dict(), "optimizer": self._optimizer.inner.state_dict(),
                 "scheduler": None if self._scheduler is None else self._scheduler.state_dict()}
        self._files.save(step, lambda file: torch.save(state, file))
