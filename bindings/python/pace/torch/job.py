"""Job: a wrapped model as one worker of a job: its session, its state, and the family that exchanges it."""

from typing import Any, Callable, Dict, Optional, Type

import torch

import pace
from pace.place import Place, current
from pace.policies import divided, family_of, long_name
from pace.retry import ModelChanged
from pace.torch.averaging import Averaging
from pace.torch.collective import Collective
from pace.torch.family import Family
from pace.torch.memory import DeviceSession
from pace.torch.progress import Progress
from pace.torch.served import Served

_FAMILIES: Dict[str, Type[Any]] = {"collective": Collective, "averaging": Averaging, "server": Served}


class Job:
    """Starts at the first use: then the policy and all options are known. Threads: the trainer's."""

    def __init__(self, module: torch.nn.Module):
        self.module = module
        self.optimizer: Optional[torch.optim.Optimizer] = None  # the user's, within pace.torch.Optimizer
        self.place: Place = current()
        self.step = 0  # optimizer steps, counted over the job: a worker that comes late goes on where the others are
        self.is_finished = False
        self._policy = "all-reduce"
        self._options: Dict[str, Any] = {}
        self._overlap = False
        self._session: Optional[pace.Session] = None
        self._family: Optional[Family] = None
        self._progress = Progress()

    @property
    def is_started(self) -> bool:
        return self._session is not None

    @property
    def family(self) -> Family:
        self.start()
        assert self._family is not None
        return self._family

    def configure(self, policy: Optional[str], server: Optional[str], overlap: bool, options: Dict[str, Any]) -> None:
        """Before the start: what pace.torch.Optimizer was given. Raises pace.Invalid."""
        if self.is_started:
            raise pace.Invalid("the model has been used before its optimizer was wrapped: wrap it first, then train", "optimizer")
        if policy and server:
            raise pace.Invalid(f"policy {policy!r} and server {server!r} exclude each other; give one", "policy")
        self._policy = server or policy or "all-reduce"
        self._overlap = overlap
        for name, value in options.items():
            self._options[long_name(name)] = value

    def add_option(self, name: str, value: Any) -> None:
        """As configure(), of one option: a job that has started with it, or without any such wish, stays as it is."""
        if self._options.get(name, value) != value or (self.is_started and name not in self._options):
            raise pace.Invalid(f"{name} cannot be {value} any more: the job has started without it; call steps() before the "
                               "model is used", name)
        self._options[name] = value

    def start(self, before_broadcast: Optional[Callable[[pace.SessionInfo], None]] = None) -> None:
        """Opens the session, moves the model to the daemon's memory, and takes the job's model and step. Once.

        `before_broadcast(info)` is called once the session is open: a checkpoint is loaded there. Blocks until all workers have
        come, or as run.min_workers says.
        """
        if self.is_started:
            return
        kind = _FAMILIES[family_of(self._policy)]
        merged = {**kind.options(self.module), **self._options}
        named, keywords = divided(merged)
        self.place.ensure_daemon()
        self._session = DeviceSession(self.place.job, self._policy, rank=self.place.rank, world=self.place.world,
                                      endpoint=self.place.endpoint, options=named, **keywords)
        try:
            if before_broadcast is not None:
                before_broadcast(self._session.info)
            family: Family = kind(self, self._session, {**keywords, **named}, self._overlap)
            family.broadcast()
        except BaseException:
            self._session.free()
            self._session = None
            raise
        self._family = family

    def run_step(self, inner: Callable[[], Any], closure: Optional[Callable[[], Any]]) -> Any:
        """One optimizer step, and the exchange that belongs to it. Not made with a gradient of a model that was replaced."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        family = self.family
        if family.may_step():
            try:
                family.step(inner)
            except ModelChanged:
                pass
        return loss

    def report(self, loss: Any, samples: Optional[int]) -> None:
        """As DataParallel.report()."""
        if loss is None and samples is None:
            raise pace.Invalid("report(): neither loss nor samples is given; give one", "loss")
        if self._session is not None and not self.is_finished:
            self._progress.add(self._session, loss, samples)

    def tell_steps(self, total: int) -> None:
        """A loop of so many steps is where the job is."""
        if self._session is not None and not self.is_finished:
            self._progress.move_to(self._session, self.step, total)

    def finish(self) -> None:
        """Leaves the job in order: the others go on without this worker at once. The model stays usable. Blocks at most a second."""
        if self._session is not None and not self.is_finished:
            self.family.finish()
            self.is_finished = True
            try:
                self._session.leave(1.0)
            except pace.PaceError:
                pass  # It counts as one that has died, which ends it, too.
