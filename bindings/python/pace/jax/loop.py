"""Loop: the steps of a training that goes on where the job is, with its state and its checkpoints."""

from typing import Any, Iterator, Optional, Sequence

import jax

from pace.jax.checkpoints import Checkpoints
from pace.jax.layout import Layout
from pace.jax.tree import Tree
from pace.jax.worker import current

CHECKPOINT_SECONDS = 300.0


class Steps:
    """The result of steps(): an iterable of step numbers, once, and `state`, which the body reads
    and replaces."""

    def __init__(self, total: int, state: Any, checkpoints: Optional[Checkpoints], synchronize: bool):
        self._job = current()
        self._total = total
        self._checkpoints = checkpoints
        self._synchronize = synchronize
        self._first = Tree(state, "state")
        self._layout = Layout(self._first.leaves, "state")
        is_under_way = self._job.open(self._layout).info.run_state == "under-way"
        saved = None if checkpoints is None or is_under_way else checkpoints.load(self._layout)
        self.state = self._first.rebuild(self._job.begin_loop(self._first.leaves, self._layout, saved))

    def __iter__(self) -> Iterator[int]:
        job = self._job
        while job.step < self._total:
            job.tell_steps(self._total)
            job.begin_turn(self._leaves())
            yield job.step
            self._end_turn()
            if self._checkpoints is not None and job.step < self._total:
                self._checkpoints.save_if_due(job.step, self._leaves(), self._layout)
        if self._synchronize:
            self.state = self._first.rebuild(job.synchronize(self._leaves(), self._layout))
        if self._checkpoints is not None:
            self._checkpoints.save(job.step, self._leaves(), self._layout)
        job.leave()

    def _end_turn(self) -> None:
        leaves = self._leaves()
        after = self._job.end_turn(leaves)
        if after is not leaves:
            self.state = self._first.rebuild(after)

    def _leaves(self) -> Sequence[Any]:
        """The leaves of the current state, once all verbs that were begun within jit have ended."""
        jax.effects_barrier()
        leaves = Tree(self.state, "state").leaves
        self._first.require_same(self.state, leaves)
        return leaves


def steps(total: int, state: Any, *, min_workers: Optional[int] = None, checkpoint: Optional[str] = None,
          checkpoint_every: float = CHECKPOINT_SECONDS, synchronize: bool = False) -> Steps:
    """`loop = pace.steps(10_000, state)` and `for step in loop: loop.state = train(loop.state, ...)` until the job has made `total` steps.

    `state` is the pytree from which the training goes on: parameters, the optimizer's state,
    statistics. The first worker's state becomes everyone's. A worker that comes later, or that was
    suspended, gets the job's current state, and the results that the body computed from an older
    state are dropped. The body gives a state of the same structure, shapes and types. The number
    counts the steps made before, in the same way on all workers: an average takes it forward. A
    body that calls no verb makes a step, too.

    `min_workers`: the run begins with so many when the others do not come. `checkpoint`: a folder
    in which one worker saves the state every `checkpoint_every` seconds and at the end. A job whose
    workers have all ended goes on from the newest checkpoint. `synchronize`: at the end all
    workers' states are averaged once, so that all have the same. Then the worker leaves the job. If
    break or an exception leaves the body, the worker counts as one that has left once it calls
    finish(), or as one that has died when its process ends.

    Blocks until all workers have come. Raises what pace.Session raises, and the faults of its requests.
    """
    job = current()
    if min_workers is not None:
        job.add_option("run.min_workers", min_workers)
    saved = Checkpoints(checkpoint, checkpoint_every, job.place.rank) if checkpoint else None
    return Steps(total, state, saved, synchronize)
