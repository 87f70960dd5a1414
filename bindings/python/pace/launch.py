"""Launch: which worker of how many this process is, as its launcher says by environment variables."""

import os
from dataclasses import dataclass
from typing import Mapping, Optional

from pace.errors import Invalid


@dataclass(frozen=True)
class Launch:
    """A worker's place. `local_rank` counts the workers of its node. The run's identity libpace finds by itself."""

    launcher: str
    rank: int
    world: int
    local_rank: Optional[int]


# The variables for rank, world, local rank. Within a Slurm job, mpirun sets variables of its own,
# which then count.
_LAUNCHERS = (
    ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)


def detect(environment: Optional[Mapping[str, str]] = None) -> Optional[Launch]:
    """What the launcher says: torchrun (also python -m pace run), Open MPI, MPICH or Slurm; None without one.

    Raises Invalid when a launcher's variable is missing beside its other one, or is no number. Does not block.
    """
    environment = os.environ if environment is None else environment
    for launcher, rank, world, local_rank in _LAUNCHERS:
        if rank not in environment:
            continue
        if world not in environment:
            raise Invalid(f"{rank} is set and {world} is not; set both, or give rank and world to Session", "world")
        local = _number(environment, local_rank) if local_rank in environment else None
        return Launch(launcher, _number(environment, rank), _number(environment, world), local)
    return None


def _number(environment: Mapping[str, str], name: str) -> int:
    value = environment[name]
    if not (value.isascii() and value.isdigit()):
        raise Invalid(f"{name} is {value!r}; set it to a whole number", name.lower()[:31])
    return int(value)
