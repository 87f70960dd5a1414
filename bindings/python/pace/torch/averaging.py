"""Averaging: parameters, optimizer state and BatchNorm's statistics are averaged over groups of workers after each step."""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

import pace
from pace.retry import ModelChanged, complete
from pace.torch.family import Family
from pace.torch.state import ModelState

if TYPE_CHECKING:
    from pace.torch.job import Job


class Averaging(Family):
    """Each worker makes its own steps and averages with the workers that are ready. Its step count
    is the group's newest afterwards.

    With `overlap` the average of a step travels during the next one: the worker goes on with its own model, and the average is
    added to it before the next one is called.
    """

    def __init__(self, job: "Job", session: pace.Session, _: Dict[str, Any], overlap: bool):
        self._job = job
        self._session = session
        self._overlap = overlap
        self._state = ModelState(session, job.module, job.optimizer, own=1)
        self._request: Optional[pace.Request] = None

    def broadcast(self) -> None:
        self._state.write_counts([self._job.step])
        info = complete(self._job.place, lambda: self._session.broadcast([*self._state.buffers, self._state.counts]))
        told = self._state.read_counts()[0]
        # If the count is still this worker's own, no worker was there to give a model. The daemon's
        # count is then an earlier process's, and not that of this worker's model.
        self._job.step = max(told, info.iteration) if told != self._job.step else told
        self._announce()

    def step(self, inner: Callable[[], Any]) -> None:
        inner()
        self._job.step += 1
        self._state.write_counts([self._job.step])
        try:
            if self._overlap:
                self._collect()
                self._request = self._begin()
            else:
                self._job.step = complete(self._job.place, self._begin).iteration
        except pace.Stale:
            self._request = None
            self.broadcast()
            raise ModelChanged from None
        self._announce()

    def synchronize(self) -> None:
        self._collect_or_adopt()
        while True:
            try:
                complete(self._job.place, lambda: self._session.sync(self._state.buffers))
                return
            except pace.Stale:
                self.broadcast()

    def checksum(self) -> str:
        return self._state.checksum()

    def finish(self) -> None:
        self._collect_or_adopt()

    def _begin(self) -> pace.Request:
        return self._session.average(self._state.buffers, iteration=self._job.step, keep_local=self._overlap)

    def _collect(self) -> None:
        request, self._request = self._request, None
        if request is None:
            return
        try:
            info = request.wait(local_iteration=self._job.step)
        except (pace.Aborted, pace.DaemonGone) as error:
            if isinstance(error, pace.DaemonGone):
                if error.info is not None and error.info.contents == "torn":
                    raise pace.Stale(error.message) from error
                self._job.place.ensure_daemon()
            return  # This average is missed; the next one includes its changes.
        self._job.step = max(self._job.step, info.iteration)

    def _collect_or_adopt(self) -> None:
        try:
            self._collect()
        except pace.Stale:
            self.broadcast()

    def _announce(self) -> None:
        try:
            self._session.announce(self._job.step + 1)
        except pace.PaceError:
            pass  # It is a hint alone; what is wrong, the average tells.
