"""Collective: gradients are reduced over all workers, or over a quorum of them, before each step (policy all-reduce)."""

from typing import TYPE_CHECKING, Any, Callable, Dict, List

import pace
from pace.retry import abandon, broadcast_again, complete
from pace.torch.buckets import Gradients
from pace.torch.family import Family
from pace.torch.rounds import Round, complete_all, is_one_round, is_top_k
from pace.torch.state import ModelState, parameters_of

if TYPE_CHECKING:
    from pace.torch.job import Job


class Collective(Family):
    """Buckets are reduced while backward() runs, and its end waits for all of them, as in DistributedDataParallel.

    A step's buckets are as many rounds of the job. A worker that comes in between gets, with the model, the results of the buckets
    that are done, and takes part from the next one on. With a quorum or a top-k compression a step is one round, made at
    the end of backward(), since one decision is made for all of it.
    """

    def __init__(self, job: "Job", session: pace.Session, options: Dict[str, Any], _: bool):
        self._job = job
        self._session = session
        is_one = self._is_one = is_one_round(options)
        self._state = ModelState(session, job.module, job.optimizer, own=2)
        # The running statistics are averaged with the last bucket, so that all workers have the same. A sum of several rounds, or a
        # part of the elements, would spoil them: then synchronize() averages them.
        self._statistics = [] if is_one else self._state.statistics
        self.gradients: Gradients = Gradients(session, parameters_of(job.module), is_one, not is_top_k(options), self._full,
                                              self._end)
        self._rounds = 1 if is_one else len(self.gradients.buckets)  # of one backward()
        self._sets = 0  # backward passes whose gradients have been reduced
        self._begun: List[Round] = []
        # The daemon's generation, when all workers were last known to be at the same round, and
        # after the last rounds. The last rounds may have ended with a daemon that is gone, and only
        # some workers know how they ended.
        self._generation = self._generation_now = session.info.generation
        self._is_void = False  # the gradients are of a model that was replaced
        self._are_counts_written = False

    def broadcast(self) -> None:
        self._take_model(complete)

    def _take_model(self, how: Callable[..., pace.Info]) -> None:
        self._state.write_counts([self._job.step, self._sets])
        extra = [] if self._rounds == 1 else self.gradients.buffers
        everything = [*self._state.buffers, self._state.counts, *extra]
        info = how(self._job.place, lambda: self._session.broadcast(everything))
        self._generation = self._generation_now = self._session.info.generation
        self._job.step, self._sets = self._state.read_counts()
        done = info.iteration - self._sets * self._rounds
        self.gradients.adopt(done if 0 < done < self._rounds else 0)
        self._begun.clear()
        self._are_counts_written = False

    def before_forward(self) -> None:
        """From the first call of a step on, a newcomer may get this model. It then makes the step,
        too.

        It gets the counts as they are before the step: a forward pass counts BatchNorm's batches.
        """
        if not self._are_counts_written:
            self._state.write_counts([self._job.step, self._sets])
            self._are_counts_written = True

    def may_step(self) -> bool:
        return not self._is_void

    def step(self, inner: Callable[[], Any]) -> None:
        inner()
        self._job.step += 1

    def synchronize(self) -> None:
        """Models are equal already; with a quorum they differ by rounding at most, which this ends."""
        if self._is_one:
            complete(self._job.place, lambda: self._session.sync(self._state.buffers))

    def checksum(self) -> str:
        return self._state.checksum()

    def finish(self) -> None:
        self.gradients.remove_hooks()

    def _start(self, index: int) -> None:
        self._begun.append(Round(lambda: self._begin(index)))

    def _begin(self, index: int) -> pace.Request:
        iteration = self._sets * self._rounds + index + 1
        if self._is_one:
            operands = [buffer for position in range(len(self.gradients.buckets)) for buffer in self.gradients.operands(position)]
        else:
            operands = self.gradients.operands(index) + (self._statistics if index == self._rounds - 1 else [])
        return self._session.reduce(operands, iteration=iteration)

    def _full(self, index: int) -> None:
        if self._is_one or index < self.gradients.adopted:
            return
        self._prepare(index)
        self._start(index)

    def _prepare(self, index: int) -> None:
        self._is_void = False
        self.before_forward()
        self.gradients.take_own(index)

    def _end(self) -> None:
        try:
            last = self._finish_rounds()
        except (pace.Stale, pace.Mismatch) as error:
            # When a daemon has died, some workers may know the end of a round that others call
            # again. The calls then do not match.
            if isinstance(error, pace.Mismatch) and self._session.info.generation == self._generation:
                raise
            self._is_void = True
            abandon([one.request for one in self._begun])
            self._take_model(broadcast_again)
            return
        self._sets += 1
        self._generation, self._generation_now = self._generation_now, self._session.info.generation
        self._begun.clear()
        self._are_counts_written = False
        self.gradients.give_results()
        if last.resync:
            self.synchronize()

    def _finish_rounds(self) -> pace.Info:
        """Begins the rounds that are not begun yet, those of unused parameters, and ends all. Gives the last. Raises pace.Stale."""
        if self._is_one:
            for index in range(len(self.gradients.buckets)):
                self._prepare(index)
            return complete(self._job.place, lambda: self._begin(0))
        for index in range(self.gradients.adopted + len(self._begun), self._rounds):
            self._prepare(index)
            self._start(index)
        return complete_all(self._job.place, self._begun)
