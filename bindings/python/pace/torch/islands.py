"""Islands: gradients that torch's FSDP2 has reduced within an island are reduced by Pace between islands."""

import weakref
from typing import Any, Iterator, List, Optional

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import ProcessGroup

import pace
from pace.place import current
from pace.policies import long_name
from pace.retry import complete
from pace.torch.group_job import leave
from pace.torch.rounds import exchange_copies, is_one_round
from pace.torch.staging import Staging


class Islands:
    """The hook of a model that fully_shard() has sharded over one island, which is `island` of `islands`.

        between = pace.Islands(island, islands, group=island_group)
        between.attach(model)
        between.broadcast(model)

    Each rank of an island is a worker of a job with the ranks of its number on the other islands: they hold the same shards.
    `group` is the process group of the island, None for the default one. The job's name is the one of pace.init(), with the
    shard's number behind it; `run` tells executions of it apart where the islands' launchers give identities of their own. Other
    keywords are options of the job, compression="f16" for one. A quorum and a top-k compression are refused: they make one decision
    for all of a step, and FSDP2 asks module by module.

    Threads: the trainer's and autograd's. Blocks until the job is joined. Raises pace.Invalid, and what pace.Session raises.
    """

    def __init__(self, island: int, islands: int, *, group: Optional[ProcessGroup] = None, run: Optional[str] = None,
                 **options: Any):
        named = {long_name(name): value for name, value in options.items()}
        if is_one_round(named):
            raise pace.Invalid("a quorum or a top-k compression needs one call for all gradients of a step, and FSDP2's hook has one "
                               "for each module; use compression=\"f16\" or \"bf16\", or none", "options")
        self._place = current()
        self._place.ensure_daemon()
        self._session = pace.Session(f"{self._place.job[:52]}.shard{dist.get_rank(group)}", "all-reduce", rank=island, world=islands,
                                     endpoint=self._place.endpoint, run=run, **named)
        self._staging = Staging(self._session)
        weakref.finalize(self, leave, self._session)

    def attach(self, model: torch.nn.Module) -> None:
        """Sets the hook on every module that fully_shard() was applied to. Raises pace.Unsupported where there is none."""
        modules = [module for module in model.modules() if hasattr(module, "set_all_reduce_hook")]
        if not modules:
            raise pace.Unsupported("no module of the model has set_all_reduce_hook(): call fully_shard() first, of a torch whose FSDP2 "
                                   "has such hooks", "model")
        for module in modules:
            module.set_all_reduce_hook(self)  # type: ignore[operator]

    def broadcast(self, model: torch.nn.Module) -> None:
        """The first island's shards of parameters and its buffers become everyone's, to the last bit. Every worker calls it in the same
        place. Blocks until all islands have come. Raises as a verb's request."""
        exchange_copies(self._session, self._place, list(_local(model)), self._session.broadcast)

    def __call__(self, gradient: torch.Tensor) -> None:
        """The mean over the islands that are there takes the gradient's place. Blocks for it. Raises as a verb's request."""
        with torch.no_grad():
            piece = self._staging.take(gradient.dtype, gradient.numel())
            piece.flat.copy_(gradient.reshape(-1))
            complete(self._place, lambda: self._session.reduce(piece.operand))
            gradient.copy_(piece.flat.view(gradient.shape))
            self._staging.give(piece)


def _local(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    """What this process holds of each parameter, and the buffers that Pace can move."""
    tensors: List[Any] = [*model.parameters(), *(one for one in model.buffers() if one.is_floating_point())]
    for tensor in tensors:
        yield tensor.to_local() if hasattr(tensor, "to_local") else tensor
