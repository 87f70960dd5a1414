"""DataParallel: a model that trains as one of many workers, in the place of torch's DistributedDataParallel."""

import contextlib
from typing import Any, Iterator, Optional

import torch

from pace.torch.job import Job


class DataParallel(torch.nn.Module):
    """`model = pace.DataParallel(model)`. The model is `model.module`; names in its state_dict begin with "module.".

    At the first forward pass, or at steps(), the worker joins the job: the parameters move to the daemon's memory, and the
    first worker's model becomes everyone's; a worker that comes later gets the current one. Which policy, Optimizer says; without
    it gradients are averaged over all workers while backward() makes them. Unused, shared and frozen parameters need no flag.
    Threads: the trainer's. Blocks: the first pass until all workers have come; backward() until the gradients are reduced.
    Raises what pace.Session raises.
    """

    def __init__(self, module: torch.nn.Module):
        super().__init__()
        self.module = module
        self.job = Job(module)

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """What the wrapped model gives. In training the first call joins the job, if steps() has not, and blocks as that does."""
        if torch.is_grad_enabled() and self.training and not self.job.is_finished:
            self.job.family.before_forward()
        return self.module(*inputs, **keywords)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes within only accumulate; the first one after it reduces the sum. For averages and servers: nothing."""
        gradients = self.job.family.gradients
        if gradients is None:
            yield
            return
        before = gradients.is_held
        gradients.is_held = True
        try:
            yield
        finally:
            gradients.is_held = before

    def synchronize(self) -> None:
        """Evaluation at a common model: afterwards all workers have the same one. Every worker calls it in the same place."""
        self.job.family.synchronize()

    def report(self, loss: Any = None, samples: Optional[int] = None) -> None:
        """Hands the loss of this step, a number or a tensor of one element, and how many samples it had, to `pacectl status`.

        Called at each step; once a second it is told: the loss, and the samples a second since. Nothing that Pace does depends on it.
        Does not block, but for a loss on a GPU, once a second. Raises pace.Invalid when neither is given.
        """
        self.job.report(loss, samples)

    def checksum(self) -> str:
        """A digest of parameters, buffers and optimizer state, to the last bit."""
        return self.job.family.checksum()

    @property
    def gradient_bytes_copied(self) -> int:
        """Bytes of gradients that were copied to the daemon's memory: 0 unless gradients were taken away between steps."""
        gradients = self.job.family.gradients
        return 0 if gradients is None else gradients.bytes_copied
