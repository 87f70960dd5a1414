"""Hooks: Pace reduces the gradients of a DistributedDataParallel that was built over any process group."""

import queue
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import GradBucket, ProcessGroup

import pace
from pace.place import Place, of_group
from pace.policies import long_name
from pace.retry import complete
from pace.torch.group_job import leave, new_identity, open_session, this_machine
from pace.torch.memory import Arena
from pace.torch.rounds import Round, complete_all, exchange_copies, is_one_round
from pace.torch.staging import Staging


class HookState:
    """`model.register_comm_hook(pace.HookState(quorum="majority"), pace.comm_hook)`. The model is a DistributedDataParallel.

    The options are those of pace.torch.Optimizer for gradients: quorum, compression, density, and any other of the family. `group` is
    the process group of the model, None for the default one: all its ranks make the state together, and are the job's workers.
    Threads: the trainer's. Blocks until all have come and the job is joined. Raises what pace.Session raises.

    A worker that dies is left out: the mean is that of the others. DistributedDataParallel itself stays as it is, with its own use
    of the process group: it must not need that one any more (broadcast_buffers=False, or no buffers), and takes no worker back. A
    worker that was suspended, or whose daemon was started anew, gets a RuntimeError from backward() that names pace.Stale.
    pace.torch.DataParallel goes on in all these cases.
    """

    def __init__(self, group: Optional[ProcessGroup] = None, **options: Any):
        named = {long_name(name): value for name, value in options.items()}
        if "reduce.resync_every" in named or "reduce_resync_every" in named:
            raise pace.Invalid("reduce.resync_every has no effect here; call synchronize(model) every so many steps", "options")
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        told: List[Any] = [None] * size
        dist.all_gather_object(told, (new_identity(), this_machine()), group)  # type: ignore[no-untyped-call]
        identity = told[0][0]
        place = of_group(rank, size, identity, lambda: len({machine for _, machine in told}) == 1)
        self._place: Place = place
        self._session = open_session(place, "hook", identity, rank, size, named)
        self._staging = Staging(self._session)
        self._is_one = is_one_round(named)
        self.passes = 0  # backward passes whose gradients were reduced, or are on their way
        self._waiting: List[_Bucket] = []  # of a pass that is one round, until its last one comes
        self._arena: Optional[Arena] = None
        self._places: Dict[int, torch.Tensor] = {}
        self._ends = _Ends(place)
        self._close = weakref.finalize(self, self._ends.close, self._session)

    def take(self, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
        """What comm_hook() does with a bucket."""
        own = _Bucket(bucket)
        if self._is_one:
            self._waiting.append(own)
            if bucket.is_last():
                waiting, self._waiting = self._waiting, []
                self._reduce_together(waiting)
        else:
            self._reduce(own, bucket.is_last())
        self.passes += bucket.is_last()
        return own.future

    def synchronize(self, model: torch.nn.Module) -> None:
        """The mean of all workers' parameters becomes everyone's: with a quorum they differ by rounding at most.

        Every worker calls it in the same place. Blocks for that, and for two copies of the parameters. Raises as a verb's request.
        """
        exchange_copies(self._session, self._place, list(model.parameters()), self._session.sync)

    def close(self) -> None:
        """Leaves the job: the others go on without this worker at once. Blocks at most a second. So does the end of the process."""
        self._close()

    def _reduce(self, own: "_Bucket", is_last: bool) -> None:
        """One round for one bucket, whose place in memory and length are those that DistributedDataParallel has given it."""
        piece = self._staging.take(own.flat.dtype, own.flat.numel())
        piece.flat.copy_(own.flat)
        iteration = self.passes + 1

        def finish() -> None:
            own.flat.copy_(piece.flat)
            self._staging.give(piece)
            own.complete()
        self._ends.add(_Pending(lambda: self._session.reduce(piece.operand, iteration=iteration), [own], finish, is_last))

    def _reduce_together(self, buckets: "Sequence[_Bucket]") -> None:
        """One round for a pass. Each parameter has its place for ever, also when DistributedDataParallel makes other buckets."""
        pairs = [pair for bucket in buckets for pair in bucket.pairs]
        if self._arena is None:
            self._arena = Arena(self._session, [gradient for _, gradient in pairs])
            self._places = {id(parameter): view for (parameter, _), view in zip(pairs, self._arena.views)}
        arena = self._arena
        views = [self._places[id(parameter)] for parameter, _ in pairs]
        for (_, gradient), view in zip(pairs, views):
            view.copy_(gradient)
        iteration = self.passes + 1

        def finish() -> None:
            for (_, gradient), view in zip(pairs, views):
                gradient.copy_(view)
            for bucket in buckets:
                bucket.complete()
        self._ends.add(_Pending(lambda: self._session.reduce(arena.buffers, iteration=iteration), buckets, finish, True))


def comm_hook(state: HookState, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
    """DistributedDataParallel's gradients, by Pace: see HookState. Gives a Future of the bucket with the mean in it, which is
    completed when the reduce has ended, by a thread of the state's: backward() goes on meanwhile."""
    return state.take(bucket)


class _Bucket:
    """One of DistributedDataParallel's buckets, and the future that it waits for."""

    def __init__(self, bucket: GradBucket):
        self.flat: torch.Tensor = bucket.buffer()
        self.pairs = list(zip(bucket.parameters(), bucket.gradients()))
        devices: List[Any] = [] if self.flat.device.type == "cpu" else [self.flat.device]
        self._fault: Optional[BaseException] = None
        self._ended: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=devices)
        # An exception that is set is for Python alone. One that is raised on the way reaches DistributedDataParallel, too.
        self.future: torch.futures.Future[torch.Tensor] = self._ended.then(self._result)

    def complete(self) -> None:
        self._ended.set_result(self.flat)

    def fail(self, fault: BaseException) -> None:
        if not self._ended.done():
            self._fault = fault
            self._ended.set_result(self.flat)

    def _result(self, _: Any) -> torch.Tensor:
        if self._fault is not None:
            raise self._fault
        return self.flat


class _Pending(Round):
    """A round whose end completes these buckets. `is_last`: of its pass."""

    def __init__(self, begin: Callable[[], pace.Request], buckets: Sequence[_Bucket], finish: Callable[[], None], is_last: bool):
        super().__init__(begin)
        self.buckets = buckets
        self.finish = finish
        self.is_last = is_last

    def fail(self, fault: BaseException) -> None:
        for bucket in self.buckets:
            bucket.fail(fault)


class _Ends:
    """The thread that ends rounds. One that has failed is called again with those behind it, when its pass has begun all."""

    def __init__(self, place: Place):
        self._place = place
        self._begun: "queue.SimpleQueue[Optional[_Pending]]" = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="pace-hook", daemon=True)
        self._thread.start()

    def add(self, one: _Pending) -> None:
        self._begun.put(one)

    def close(self, session: pace.Session) -> None:
        leave(session, self._thread, lambda: self._begun.put(None))

    def _run(self) -> None:
        with torch.no_grad():  # which is each thread's own
            while (one := self._begun.get()) is not None:
                try:
                    one.request.wait()
                except pace.PaceError:
                    self._call_again(one)
                else:
                    self._finish([one])

    def _call_again(self, first: _Pending) -> None:
        rounds = [first]
        while not rounds[-1].is_last:
            one = self._begun.get()
            if one is None:
                self._begun.put(None)  # for _run()
                return
            rounds.append(one)
        try:
            complete_all(self._place, rounds)
        except BaseException as fault:
            for one in rounds:
                one.fail(fault)
        else:
            self._finish(rounds)

    @staticmethod
    def _finish(rounds: Sequence[_Pending]) -> None:
        for one in rounds:
            try:
                one.finish()
            except BaseException as fault:
                one.fail(fault)
