"""Served: workers push the update of each step to a parameter server and pull its model when theirs is too old."""

import hashlib
from typing import TYPE_CHECKING, Any, Callable, Dict

import torch

import pace
from pace.retry import ModelChanged, complete
from pace.torch.family import Family
from pace.torch.memory import Arena
from pace.torch.state import moved, parameter_slots, parameters_of

if TYPE_CHECKING:
    from pace.torch.job import Job


class Served(Family):
    """The daemons keep the parameters, as one vector of float32. Buffers and optimizer state stay each worker's own.

    An update is what the worker's optimizer has changed in its step. With ssp the model is pulled
    when the slowest worker, by the last pull's information, is more than `staleness` steps behind;
    with other policies at each step.
    """

    @staticmethod
    def options(module: torch.nn.Module) -> Dict[str, Any]:
        return {"server.elements": sum(parameter.numel() for parameter in parameters_of(module))}

    def __init__(self, job: "Job", session: pace.Session, options: Dict[str, Any], _: bool):
        parameters = parameters_of(job.module)
        others = {parameter.dtype for parameter in parameters} - {torch.float32}
        if others:
            raise pace.Invalid(f"a parameter server keeps float32, and the model has {others.pop()}; use model.float(), or another "
                               "policy", "model")
        self._job = job
        self._session = session
        self._slots = list(parameter_slots(job.module))
        self._model = moved(session, self._slots)
        self._update = Arena(session, parameters)
        self._staleness = int(options.get("server.staleness", 0))
        self._is_ssp = self._staleness > 0
        self._slowest = 0  # steps that the slowest worker has pushed, as the last pull told

    def broadcast(self) -> None:
        """Takes the server's model, or makes the first worker's it."""
        self._refresh()
        info = complete(self._job.place, lambda: self._session.broadcast(self._model.buffers))
        self._job.step = max(self._job.step, info.iteration)
        self._slowest = info.slowest_clock

    def step(self, inner: Callable[[], Any]) -> None:
        self._refresh()
        with torch.no_grad():
            before = [flat.clone() for flat in self._model.flats]
        inner()
        self._refresh()
        with torch.no_grad():
            for old, new, update in zip(before, self._model.flats, self._update.flats):
                torch.sub(new, old, out=update)
        clock = self._job.step
        try:
            complete(self._job.place, lambda: self._session.push(self._update.buffers, iteration=clock))
            self._job.step = clock + 1
            if not self._is_ssp or self._slowest + self._staleness < self._job.step:
                self._pull()
        except pace.Stale:
            self.broadcast()
            raise ModelChanged from None

    def synchronize(self) -> None:
        """This worker has the server's newest model."""
        try:
            self._pull()
        except pace.Stale:
            self.broadcast()

    def checksum(self) -> str:
        return hashlib.sha256(b"".join(flat.cpu().numpy().tobytes() for flat in self._model.flats)).hexdigest()[:16]

    def _pull(self) -> None:
        info = complete(self._job.place, lambda: self._session.pull(self._model.buffers, iteration=self._job.step))
        self._slowest = info.slowest_clock

    def _refresh(self) -> None:
        with torch.no_grad():
            for slot in self._slots:
                slot.refresh()
