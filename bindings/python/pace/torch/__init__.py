"""pace.torch: PyTorch training on unequal, shared and failing machines, by three lines.

    import pace.torch as pace
    pace.init()
    model = pace.DataParallel(model)
    optimizer = pace.Optimizer(optimizer, model, policy="partial-reduce", group_size=3)
    for step in pace.steps(10_000, model, optimizer, scheduler):
        ...

init_process_group("pace"), comm_hook and Islands bring the same to a script that keeps torch's own DistributedDataParallel or FSDP2.
Start it by `python -m pace run -n 4 train.py` on this machine, by torchrun, srun or mpirun
elsewhere. docs/pytorch.md is the guide.
"""

from pace.place import Place, init
from pace.torch.data_parallel import DataParallel
from pace.torch.hooks import HookState, comm_hook
from pace.torch.islands import Islands
from pace.torch.loop import steps
from pace.torch.optimizer import Optimizer
from pace.torch_backend import register

register()

__all__ = ["DataParallel", "HookState", "Islands", "Optimizer", "Place", "comm_hook", "init", "steps"]
