"""Optimizer: a torch optimizer whose steps belong to a job."""

from typing import Any, Callable, Dict, List, Optional

import torch

import pace
from pace.torch.data_parallel import DataParallel


class Optimizer(torch.optim.Optimizer):
    """`optimizer = pace.Optimizer(optimizer, model, ...)`, with what pace.h calls the job's policy and options:

        policy="partial-reduce", group_size=3        parameters, optimizer state and BatchNorm are averaged in groups
        quorum="majority"                            gradients of whoever is in time; the others' count later
        compression="spardl", density=0.01           the largest gradients travel
        server="ssp", staleness=3, rate="dynamic"    updates go to a parameter server

    Without any of them gradients are averaged over all workers. `overlap=True`, with policies that
    average: averages travel during the next step. Learning-rate schedulers, GradScaler and clipping
    take it as the optimizer that it wraps. Clip after backward(): gradients that are reduced are
    then everyone's, others this worker's own.

    step() makes no step with a gradient whose model has been replaced since. A model is replaced if
    its worker was suspended or the worker's daemon died. Blocks for the exchange. Raises what
    pace.Session raises, and the faults of its requests.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, model: DataParallel, *, policy: Optional[str] = None,
                 server: Optional[str] = None, overlap: bool = False, **options: Any):
        if not isinstance(model, DataParallel):
            raise pace.Invalid(f"model is a {type(model).__name__}; wrap it before: model = pace.DataParallel(model)", "model")
        if model.job.optimizer is not None:
            raise pace.Invalid("the model has an optimizer of this kind already; one job has one", "optimizer")
        # Not torch's constructor: groups and state are the wrapped one's.
        self.inner = optimizer
        self.job = model.job
        model.job.configure(policy, server, overlap, options)
        model.job.optimizer = optimizer

    @property
    def param_groups(self) -> List[Dict[str, Any]]:  # type: ignore[override]
        """The wrapped optimizer's, as torch has them."""
        return self.inner.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The wrapped optimizer's, as torch has it."""
        return self.inner.state

    @property
    def defaults(self) -> Dict[str, Any]:  # type: ignore[override]
        """The wrapped optimizer's, as torch has them."""
        return self.inner.defaults

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __repr__(self) -> str:
        return f"pace.torch.Optimizer({self.inner!r})"

    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:  # type: ignore[override]
        """One step of the wrapped optimizer, with the exchange that belongs to it. Gives what `closure` gives, else None.

        `closure` computes the loss and its gradients; it is called once, before the step. Blocks for the exchange.
        """
        return self.job.run_step(self.inner.step, closure)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As torch's. Gradients that lie in the daemon's memory are set to 0 there instead of taken away."""
        gradients = self.job.family.gradients
        if gradients is None:
            self.inner.zero_grad(set_to_none=set_to_none)
        else:
            gradients.zero()

    def state_dict(self) -> Dict[str, Any]:
        """The wrapped optimizer's, as torch's."""
        return self.inner.state_dict()

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Gives the state to the wrapped optimizer, as torch's."""
        self.inner.load_state_dict(state_dict)

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Adds parameters to the wrapped optimizer, before the job has started. Raises pace.Invalid afterwards."""
        if self.job.is_started:
            raise pace.Invalid("the job has started with the parameters that it had; add groups before", "param_group")
        self.inner.add_param_group(param_group)
