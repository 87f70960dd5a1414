"""Loop: the steps of a training that goes on where the job is, with its schedule and its checkpoints."""

from typing import Any, Iterator, Optional

import pace
from pace.torch.checkpoints import Checkpoints
from pace.torch.data_parallel import DataParallel
from pace.torch.optimizer import Optimizer

CHECKPOINT_SECONDS = 300.0


def steps(total: int, model: DataParallel, optimizer: Optimizer, scheduler: Any = None, *, min_workers: Optional[int] = None,
          checkpoint: Optional[str] = None, checkpoint_every: float = CHECKPOINT_SECONDS) -> Iterator[int]:
    """`for step in pace.steps(10_000, model, optimizer, scheduler): ...` until the job has made `total` optimizer steps.

    The number counts the optimizer steps made before, in the same way on all workers. A worker that
    comes late, or that was suspended, goes on where the job is. Averages take the count forward.
    `scheduler`, a torch learning-rate schedule, is stepped here, as often as the count has moved;
    the body must not step it. `min_workers`: the run begins with so many when the others do not
    come. `checkpoint`: a folder in which one worker saves model, optimizer and schedule every
    `checkpoint_every` seconds and at the end. A job whose workers have all ended goes on from the
    newest checkpoint. At the end the worker leaves the job. If break or an exception leaves the
    body, the worker counts as one that has died.
    """
    job = model.job
    if min_workers is not None:
        job.add_option("run.min_workers", min_workers)
    saved = Checkpoints(checkpoint, checkpoint_every, model, optimizer, scheduler) if checkpoint else None
    job.start(saved.load if saved else None)
    schedule = _Schedule(scheduler, job.step)
    while job.step < total:
        job.tell_steps(total)
        yield job.step
        schedule.move_to(job.step)
        if saved is not None and not job.step >= total:
            saved.save_if_due(job.step)
    if saved is not None:
        saved.save(job.step)
    job.finish()


class _Schedule:
    """A learning-rate schedule that follows the job's steps."""

    def __init__(self, scheduler: Any, step: int):
        if scheduler is not None and type(scheduler).__name__ == "ReduceLROnPlateau":
            raise pace.Invalid("ReduceLROnPlateau follows a metric, not steps: call its step() in the body", "scheduler")
        self._scheduler = scheduler
        self._at = getattr(scheduler, "last_epoch", 0)
        self.move_to(step)

    def move_to(self, step: int) -> None:
        if self._scheduler is None:
            return
        for _ in range(step - self._at):
            self._scheduler.step()
        self._at = max(self._at, step)
