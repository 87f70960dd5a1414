"""Place: which worker of how many this process is, and the daemon that it talks to."""

import os
import pathlib
import re
import sys
from typing import Callable, Optional

import pace
from pace import launch
from pace.nodedaemon import NodeDaemon

JOB_NAME_MAX = 63


class Place:
    """What init() has found out. Sessions are opened later, when the policy is known."""

    def __init__(self, job: str, rank: int, world: int, local_rank: int, endpoint: Optional[str], hosted: Optional[NodeDaemon]):
        self.job = job
        self.rank = rank
        self.world = world
        self.local_rank = local_rank
        self.endpoint = endpoint
        self._hosted = hosted

    def ensure_daemon(self) -> None:
        """Starts the daemon anew if this run hosts it and it is gone. Blocks until it serves."""
        if self._hosted is not None:
            self._hosted.ensure()


_place: Optional[Place] = None


def init(job: Optional[str] = None, *, rank: Optional[int] = None, world: Optional[int] = None,
         endpoint: Optional[str] = None) -> Place:
    """Finds this worker's place: rank and world from torchrun, srun, mpirun or `pace run`, else 0 of 1.

    The daemon is `endpoint`, else PACE_ENDPOINT, else this node's. If none runs, and all workers
    are on this machine, the first worker starts one for all, which ends with the last worker.
    `job`: the job's name; default: the script's.

    Blocks until a daemon serves. Raises pace.NotFound when there is none and the workers are on several machines, and
    pace.Invalid. Calling it again replaces the place of models that are wrapped later.
    """
    told = launch.detect()
    rank = rank if rank is not None else (told.rank if told else 0)
    size = world if world is not None else (told.world if told else 1)
    local_rank = told.local_rank if told and told.local_rank is not None else rank
    return _found(job, rank, size, local_rank, endpoint, _run(f"process {os.getpid()}"), lambda: _is_one_machine(size))


def current() -> Place:
    """The place that init() found; the first use calls it."""
    return _place if _place is not None else init()


def of_group(rank: int, size: int, identity: str, is_one_machine: Callable[[], bool]) -> Place:
    """As current(), for a process group. If its ranks have no launcher's variables, its `rank` of
    `size` counts.

    `identity` tells the group from others; `is_one_machine()` says whether all its ranks are on this machine.
    """
    if _place is not None or launch.detect() is not None:
        return current()
    return _found(None, rank, size, rank, None, _run(identity), is_one_machine)


def _found(job: Optional[str], rank: int, world: int, local_rank: int, endpoint: Optional[str], run: str,
           is_one_machine: Callable[[], bool]) -> Place:
    global _place
    hosted: Optional[NodeDaemon] = None
    if endpoint is None and not os.environ.get("PACE_ENDPOINT") and not _is_served():
        if not is_one_machine():
            raise pace.NotFound("no daemon runs on this machine, and the job's workers are on several: start paced on each of them "
                                "(docs/deployment.md), or name the one here in PACE_ENDPOINT", "endpoint")
        hosted = NodeDaemon(run)
        endpoint = hosted.endpoint
    _place = Place(job or _script_name(), rank, world, local_rank, endpoint, hosted)
    return _place


def _is_served() -> bool:
    try:
        pace.query("versions", "")
    except pace.PaceError:
        return False
    return True


def _is_one_machine(world: int) -> bool:
    local = os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE")
    if local is None and os.environ.get("SLURM_NNODES") == "1":
        return True
    return world == 1 or local == str(world)


def _run(otherwise: str) -> str:
    """What tells this run's daemon from another's on this machine; `otherwise` where no launcher says anything."""
    names = ("PACE_RUN_ID", "TORCHELASTIC_RUN_ID", "MASTER_PORT", "SLURM_JOB_ID", "SLURM_STEP_ID", "OMPI_MCA_orte_hnp_uri")
    told = [f"{name}={os.environ[name]}" for name in names if os.environ.get(name)]
    return " ".join(told) or otherwise


def _script_name() -> str:
    stem = pathlib.Path(sys.argv[0]).stem if sys.argv and sys.argv[0] not in ("", "-c") else "train"
    return re.sub(r"[^A-Za-z0-9._-]", "-", stem)[:JOB_NAME_MAX] or "train"
