"""State: a model and its optimizer's state as buffers that Pace broadcasts and averages.

Parameters, floating-point buffers (the running statistics of BatchNorm) and floating-point optimizer state (Adam's moments)
become views of the daemon's memory: nothing is copied for an exchange. Integer buffers and step counts travel in one vector
of float64 beside them, with broadcasts alone.
"""

import hashlib
import itertools
import warnings
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

import torch

import pace
from pace.torch.memory import Arena, common_device, is_exchangeable, new_buffer

# Where a whole number is not exact any more as float64.
_EXACT_MAX = 2 ** 53


class Slot:
    """One tensor of the model or the optimizer, by its owner, so that a tensor put in its place is
    found."""

    def __init__(self, get: Callable[[], torch.Tensor], put: Callable[[torch.Tensor], None]):
        self.get = get
        self._put = put
        self.view: torch.Tensor = get()

    def move_to(self, view: torch.Tensor) -> None:
        view.copy_(self.get().detach())
        self._put(view)
        self.view = view

    def refresh(self) -> None:
        """Takes the contents of a tensor that was put in the place of the view, as load_state_dict() does."""
        tensor = self.get()
        if tensor.data_ptr() != self.view.data_ptr():
            self.move_to(self.view)


class Counter:
    """Whole numbers beside the tensors: a step count, an integer buffer."""

    def __init__(self, count: int, get: Callable[[], torch.Tensor], put: Callable[[torch.Tensor], None]):
        self.count = count
        self.get = get
        self.put = put


def parameters_of(module: torch.nn.Module) -> List[torch.nn.Parameter]:
    """Each parameter once, also those that are shared or frozen."""
    return list(module.parameters())


def parameter_slots(module: torch.nn.Module) -> Iterator[Slot]:
    for parameter in parameters_of(module):
        if not is_exchangeable(parameter):
            raise pace.Invalid(f"a parameter is of {parameter.dtype}; Pace exchanges float32, float64, float16 and bfloat16", "model")

        def put(view: torch.Tensor, parameter: torch.nn.Parameter = parameter) -> None:
            parameter.data = view
        yield Slot(lambda parameter=parameter: parameter, put)  # type: ignore[misc]


def _module_buffers(module: torch.nn.Module) -> Iterator[Tuple[torch.nn.Module, str]]:
    seen = set()
    for owner in module.modules():
        for name, tensor in owner.named_buffers(recurse=False):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield owner, name


def _buffer_slots(module: torch.nn.Module) -> Iterator[Slot]:
    for owner, name in _module_buffers(module):
        if is_exchangeable(owner._buffers[name]):  # type: ignore[arg-type]
            def put(view: torch.Tensor, owner: torch.nn.Module = owner, name: str = name) -> None:
                owner._buffers[name] = view
            yield Slot(lambda owner=owner, name=name: owner._buffers[name], put)  # type: ignore[misc]


def _buffer_counters(module: torch.nn.Module) -> Iterator[Counter]:
    for owner, name in _module_buffers(module):
        tensor: torch.Tensor = owner._buffers[name]  # type: ignore[assignment]
        if not is_exchangeable(tensor) and not tensor.is_complex():
            yield Counter(tensor.numel(), lambda owner=owner, name=name: owner._buffers[name],  # type: ignore[misc]
                          lambda values, owner=owner, name=name: owner._buffers[name].copy_(  # type: ignore[misc]
                              values.view(owner._buffers[name].shape)))


def _state_entries(optimizer: torch.optim.Optimizer) -> Iterator[Tuple[torch.Tensor, str, Any]]:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for key, value in sorted(optimizer.state.get(parameter, {}).items()):
                yield parameter, key, value


def _optimizer_slots(optimizer: torch.optim.Optimizer) -> Iterator[Slot]:
    for parameter, key, value in _state_entries(optimizer):
        if isinstance(value, torch.Tensor) and value.dim() > 0 and is_exchangeable(value):
            def put(view: torch.Tensor, parameter: torch.Tensor = parameter, key: str = key) -> None:
                optimizer.state[parameter][key] = view
            yield Slot(lambda parameter=parameter, key=key: optimizer.state[parameter][key], put)  # type: ignore[misc]


def _optimizer_counters(optimizer: torch.optim.Optimizer) -> Iterator[Counter]:
    for parameter, key, value in _state_entries(optimizer):
        if isinstance(value, torch.Tensor) and value.dim() == 0:
            yield Counter(1, lambda parameter=parameter, key=key: optimizer.state[parameter][key],  # type: ignore[misc]
                          lambda values, parameter=parameter, key=key: optimizer.state[parameter][key].copy_(  # type: ignore[misc]
                              values[0]))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            def put(values: torch.Tensor, parameter: torch.Tensor = parameter, key: str = key, kind: Any = type(value)) -> None:
                optimizer.state[parameter][key] = kind(values.item())
            yield Counter(1, lambda parameter=parameter, key=key: torch.tensor(  # type: ignore[misc]
                float(optimizer.state[parameter][key]), dtype=torch.float64), put)


def materialize(optimizer: torch.optim.Optimizer) -> None:
    """Makes the state that an optimizer makes in its first step, with the values before that step.
    All workers then have the same state.

    A step with zero gradients makes it; parameters and step counts are put back. The state of an
    optimizer whose step needs a closure (LBFGS) is not exchanged; a warning says so.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"] if parameter.requires_grad]
    new = [parameter for parameter in parameters if not optimizer.state.get(parameter)]
    if not new:
        return
    before = [(parameter, parameter.detach().clone(), parameter.grad) for parameter in parameters]
    try:
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter) if parameter in _Identities(new) else None
        optimizer.step()
    except TypeError as error:
        warnings.warn(f"the state of {type(optimizer).__name__} cannot be made before its first step ({error}); it is neither "
                      "broadcast nor averaged", stacklevel=2)
    finally:
        for parameter, contents, gradient in before:
            parameter.detach().copy_(contents)
            parameter.grad = gradient
    for parameter in new:
        state = optimizer.state.get(parameter, {})
        if isinstance(state.get("step"), torch.Tensor):
            state["step"].zero_()
        elif "step" in state:
            state["step"] = 0


class _Identities:
    """A set of tensors by identity: `in` of a list would compare elements."""

    def __init__(self, tensors: Sequence[torch.Tensor]):
        self._ids = {id(tensor) for tensor in tensors}

    def __contains__(self, tensor: object) -> bool:
        return id(tensor) in self._ids


def moved(session: pace.Session, slots: Sequence[Slot]) -> Arena:
    """An arena to which these tensors have moved."""
    arena = Arena(session, [slot.get() for slot in slots])
    with torch.no_grad():
        for slot, view in zip(slots, arena.views):
            slot.move_to(view)
    return arena


class ModelState:
    """The model, the optimizer's state and the counters, in the daemon's memory. Threads: the trainer's.

    `buffers` are what verbs exchange; `statistics` those of them that hold the module's buffers;
    `counts` is the buffer of float64 that goes with broadcasts. Its first numbers, `own`, are for
    the owner of this object.
    """

    def __init__(self, session: pace.Session, module: torch.nn.Module, optimizer: Optional[torch.optim.Optimizer], own: int):
        if optimizer is not None:
            materialize(optimizer)
        parts = [list(parameter_slots(module)), list(_buffer_slots(module))]
        self._counters = list(_buffer_counters(module))
        if optimizer is not None:
            parts.append(list(_optimizer_slots(optimizer)))
            self._counters += _optimizer_counters(optimizer)
        self._slots = [slot for part in parts for slot in part]
        arenas = [moved(session, part) for part in parts]
        self.buffers = [buffer for arena in arenas for buffer in arena.buffers]
        self.statistics = arenas[1].buffers
        total = own + sum(counter.count for counter in self._counters)
        self.counts, self._numbers = new_buffer(session, total, torch.float64, common_device([slot.get() for slot in self._slots]))
        self._own = own

    def write_counts(self, own: Sequence[int]) -> None:
        """Before a broadcast, and before a call during which this worker may have to give its model to a newcomer."""
        with torch.no_grad():
            for slot in self._slots:
                slot.refresh()
            if any(number > _EXACT_MAX for number in own):
                raise pace.Invalid(f"a count beyond {_EXACT_MAX} cannot be told to other workers", "steps")
            counters = [counter.get().detach().reshape(-1) for counter in self._counters]
            # Tensors of one type and device, which follow one another, are converted and copied
            # together.
            alike = [torch.cat(list(group)).to("cpu", torch.float64)
                     for _, group in itertools.groupby(counters, lambda tensor: (tensor.dtype, tensor.device))]
            self._numbers.copy_(torch.cat([torch.tensor(list(own), dtype=torch.float64), *alike]))

    def read_counts(self) -> List[int]:
        """After a broadcast: the counters have the numbers that came. Gives the own ones."""
        with torch.no_grad():
            numbers = self._numbers.cpu()
            at = self._own
            for counter in self._counters:
                counter.put(numbers[at:at + counter.count].clone())
                at += counter.count
        return [int(number) for number in numbers[:self._own].tolist()]

    def checksum(self) -> str:
        """A digest of all bits, including the counters: equal on workers with equal models and
        optimizers."""
        digest = hashlib.sha256()
        for slot in self._slots:
            digest.update(slot.get().detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        for counter in self._counters:
            digest.update(repr(counter.get().detach().reshape(-1).tolist()).encode())
        return digest.hexdigest()[:16]

