"""Family: what the workers of a job exchange at each step, and when. Collective, Averaging and Served are the three."""

import abc
from typing import Any, Callable, Dict, Optional

import torch

from pace.torch.buckets import Gradients


class Family(abc.ABC):
    """Made when the job's session is open. Threads: the trainer's. All may block for the exchange, and raise its faults."""

    gradients: Optional[Gradients] = None  # those that lie in the daemon's memory, if they do

    @staticmethod
    def options(_: torch.nn.Module) -> Dict[str, Any]:
        """Options that follow from the model."""
        return {}

    @abc.abstractmethod
    def broadcast(self) -> None:
        """Takes the job's model, or gives everyone the first worker's; and with it where the job is."""

    def before_forward(self) -> None:
        """The trainer is about to use the model in training."""

    def may_step(self) -> bool:
        """Whether the gradients are of the model that is there."""
        return True

    @abc.abstractmethod
    def step(self, inner: Callable[[], Any]) -> None:
        """One step of the optimizer, `inner`, with its exchange. Raises ModelChanged when the model was replaced."""

    @abc.abstractmethod
    def synchronize(self) -> None:
        """Afterwards all workers have the same model. Every worker calls it, in the same place of its program."""

    @abc.abstractmethod
    def checksum(self) -> str:
        """A digest of all that workers exchange, to the last bit."""

    def finish(self) -> None:
        """The worker is about to leave the job."""
