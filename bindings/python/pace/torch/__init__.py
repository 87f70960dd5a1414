"""pace.torch: PyTorch training on unequal, shared and failing machines, by three lines.

    import pace.torch as pace
    pace.init()
    model = pace.DataParallel(model)
    optimizer = pace.Optimizer(optimizer, model, policy="partial-reduce", group_size=3)
    for step in pace.steps(10_000, model, optimizer, scheduler):
        ...

Started by `python -m pace run -n 4 train.py` on this machine, by torchrun, srun or mpirun elsewhere. docs/pytorch.md is
the guide.
"""

from pace.torch.data_parallel import DataParallel
from pace.torch.loop import steps
from pace.torch.optimizer import Optimizer
from pace.torch.place import Place, init

__all__ = ["DataParallel", "Optimizer", "Place", "init", "steps"]
