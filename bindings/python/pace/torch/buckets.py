"""Buckets: gradients in the daemon's memory, exchanged while backward() makes the rest of them.

Each bucket is one buffer. The gradients of its parameters are views of it, into which autograd adds: nothing is copied, unless
a gradient was taken away in the meantime (zero_grad with set_to_none), whose successor is copied in. Buckets are filled from
the last parameter on, as backward() makes gradients, and are exchanged in that order on all workers.
"""

from typing import Any, Callable, Dict, List, Optional, Sequence, Set

import torch
from torch.autograd import Variable

import pace
from pace.torch.memory import common_device, new_buffer, placed

FIRST_BUCKET_BYTES = 2 ** 20  # small, so that the first exchange begins early
BUCKET_BYTES = 25 * 2 ** 20


class Bucket:
    """One buffer of gradients, and the view of it for each parameter."""

    def __init__(self, session: pace.Session, parameters: Sequence[torch.nn.Parameter]):
        self.parameters = list(parameters)
        first = self.parameters[0]
        self.buffer, flat = new_buffer(session, sum(parameter.numel() for parameter in parameters), first.dtype, first.device)
        self.views: List[torch.Tensor] = []
        at = 0
        for parameter in self.parameters:
            self.views.append(placed(flat, at, parameter))
            at += parameter.numel()
        self.missing: Set[int] = set()  # positions of parameters whose gradients backward() has not made yet


def divide(parameters: Sequence[torch.nn.Parameter], is_one: bool) -> List[List[torch.nn.Parameter]]:
    """Parameters by bucket, from the last one on, each of one type and device. `is_one`: as few as types and devices allow."""
    open_ones: Dict[Any, List[torch.nn.Parameter]] = {}
    bytes_of: Dict[Any, int] = {}
    closed: List[List[torch.nn.Parameter]] = []
    limit = FIRST_BUCKET_BYTES
    for parameter in reversed(parameters):
        key = (parameter.dtype, parameter.device)
        open_ones.setdefault(key, []).append(parameter)
        bytes_of[key] = bytes_of.get(key, 0) + parameter.numel() * parameter.element_size()
        if not is_one and bytes_of[key] >= limit:
            closed.append(open_ones.pop(key))
            del bytes_of[key]
            limit = BUCKET_BYTES
    return closed + list(open_ones.values())


class Gradients:
    """All buckets of a model, and the hooks by which autograd tells of each gradient. Threads: backward()'s.

    `on_full(index)` is called when a bucket and all before it are complete, `on_end()` when
    backward() has made all of its gradients. While `is_held` is true gradients only accumulate.
    """

    def __init__(self, session: pace.Session, parameters: Sequence[torch.nn.Parameter], is_one: bool, counts_use: bool,
                 on_full: Callable[[int], None], on_end: Callable[[], None]):
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        if not trained:
            raise pace.Invalid("no parameter of the model asks for a gradient", "model")
        self.buckets = [Bucket(session, part) for part in divide(trained, is_one)]
        self._everyone = [pair for bucket in self.buckets for pair in zip(bucket.parameters, bucket.views)]
        self.is_held = False
        self.bytes_copied = 0
        self._on_full = on_full
        self._on_end = on_end
        self._touched: Set[int] = set()
        self._next = 0
        self._is_running = False
        self.adopted = 0  # buckets whose results came with the model: backward()'s gradients for them are dropped
        self._use_buffer: Optional[pace.Buffer] = None
        if counts_use:
            self._use_buffer, self._use = new_buffer(session, len(trained), torch.float32, common_device(trained))
        self._hooks = []
        for index, bucket in enumerate(self.buckets):
            for position, parameter in enumerate(bucket.parameters):
                # The autograd node that adds gradients up; its hook runs when the sum is there.
                # Older torch has no other such hook.
                node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]  # type: ignore[union-attr]
                self._hooks.append((node, node.register_hook(self._hook_of(index, position))))
        with torch.no_grad():
            for parameter, view in self._everyone:
                if parameter.grad is not None:
                    view.copy_(parameter.grad)
                parameter.grad = view
        self._start()

    def operands(self, index: int) -> List[pace.Buffer]:
        """What the exchange of this bucket names."""
        is_last = index == len(self.buckets) - 1
        return [self.buckets[index].buffer] + ([self._use_buffer] if is_last and self._use_buffer else [])

    @property
    def buffers(self) -> List[pace.Buffer]:
        return [bucket.buffer for bucket in self.buckets]

    def adopt(self, count: int) -> None:
        """The first `count` buckets hold results that came with the model: the next backward() leaves them alone."""
        self.adopted = count
        self._start()
        for bucket in self.buckets[:count]:
            for parameter in bucket.parameters:
                parameter.grad = None

    def zero(self) -> None:
        """As zero_grad(), but the views stay. Results that came with the model stay, too."""
        with torch.no_grad():
            for index, bucket in enumerate(self.buckets):
                for parameter, view in zip(bucket.parameters, bucket.views):
                    if index < self.adopted:
                        parameter.grad = None
                    else:
                        view.zero_()
                        parameter.grad = view
        self._touched.clear()

    def take_own(self, index: int) -> None:
        """Puts the missing parts into the buffer: gradients that are no longer views of it, and
        zeros for absent gradients."""
        bucket = self.buckets[index]
        with torch.no_grad():
            for parameter, view in zip(bucket.parameters, bucket.views):
                if index < self.adopted:
                    continue
                if parameter.grad is None:
                    view.zero_()
                else:
                    self._take(parameter, view)
            if index == len(self.buckets) - 1 and self._use_buffer:
                self._use.copy_(torch.tensor([float(id(parameter) in self._touched) for parameter, _ in self._everyone]))

    def give_results(self) -> None:
        """After all exchanges: gradients are the views, and None where no worker has used the parameter."""
        used = self._use.tolist() if self._use_buffer else [1.0] * len(self._everyone)
        for (parameter, view), count in zip(self._everyone, used):
            parameter.grad = view if count > 0 else None
        self._touched.clear()
        self.adopted = 0

    def remove_hooks(self) -> None:
        for _, handle in self._hooks:
            handle.remove()

    def _start(self) -> None:
        self._next = 0
        self._is_running = False
        for bucket in self.buckets:
            bucket.missing = set(range(len(bucket.parameters)))

    def _take(self, parameter: torch.nn.Parameter, view: torch.Tensor) -> None:
        gradient = parameter.grad
        assert gradient is not None
        if gradient.data_ptr() != view.data_ptr() or gradient.is_sparse:
            view.copy_(gradient.to_dense() if gradient.is_sparse else gradient)
            self.bytes_copied += view.numel() * view.element_size()
            parameter.grad = view

    def _hook_of(self, index: int, position: int) -> Callable[..., None]:
        bucket = self.buckets[index]
        identity = id(bucket.parameters[position])

        def made(*_: Any) -> None:
            self._touched.add(identity)
            if self.is_held:
                return
            if not self._is_running:
                self._is_running = True
                Variable._execution_engine.queue_callback(self._end)  # type: ignore[attr-defined]
            bucket.missing.discard(position)
            while self._next < len(self.buckets) and not self.buckets[self._next].missing:
                self._next += 1
                self._on_full(self._next - 1)
        return made

    def _end(self) -> None:
        self._start()
        self._on_end()
