"""Worker: this process as a worker of its job, which init() has begun."""

from typing import Any, Optional

import pace
from pace import place
from pace.jax.job import Job

_job: Optional[Job] = None


def init(job: Optional[str] = None, *, policy: str = "all-reduce", rank: Optional[int] = None, world: Optional[int] = None,
         endpoint: Optional[str] = None, **options: Any) -> place.Place:
    """Finds this worker's place, as pace.torch.init() does, and says what the job does.

        init()                                                  gradients are averaged over all workers
        init(quorum="majority")                                 over those that are in time; the others' count later
        init(compression="spardl", density=0.01)                the largest gradients travel
        init(policy="partial-reduce", group_size=3)             parameters are averaged over the workers that are ready
        init(policy="ssp", staleness=3, rate="dynamic")         updates go to a parameter server

    Rank and world come from torchrun, srun, mpirun or `pace run`, else they are 0 of 1. The daemon
    is the one at `endpoint`, else at PACE_ENDPOINT, else this node's. If none runs, and all workers
    are on this machine, the first worker starts one for all. `job`: the job's name; default: the
    script's. Every option of docs/options.md is a keyword: group_size is group.size.

    The job is joined by the first verb, or by steps(). Blocks until a daemon serves. Raises pace.NotFound when there is none and the
    workers are on several machines, and pace.Invalid. Calling it again leaves the job, and begins another one.
    """
    global _job
    if _job is not None:
        _job.leave()
    found = place.init(job, rank=rank, world=world, endpoint=endpoint)
    _job = Job(found, policy, options)
    return found


def current() -> Job:
    """The job of this process. Raises pace.Invalid before init()."""
    if _job is None:
        raise pace.Invalid("call pace.jax.init() first", "init")
    return _job


def step() -> int:
    """Steps that the job has made, as this worker knows: an average takes it to the newest of its group. Does not block."""
    return current().step


def failure() -> Optional[pace.PaceError]:
    """What a verb within jit has ended with, which JAX tells as a JaxRuntimeError; None when all went well."""
    return current().failure


def finish() -> None:
    """Leaves the job in order: the others go on without this worker at once. Blocks at most a second. steps() does it at its end.

    A process that ends without it counts as a worker that has died.
    """
    current().leave()
