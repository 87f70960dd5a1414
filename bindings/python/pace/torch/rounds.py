"""Rounds: the calls of one step, begun in order while backward() runs, and ended in that order."""

from typing import Any, Callable, Mapping, Sequence

import torch

import pace
from pace.place import Place
from pace.retry import complete
from pace.torch.memory import Arena


def is_top_k(options: Mapping[str, Any]) -> bool:
    """Whether the largest elements of a gradient travel alone."""
    return options.get("compression", "none") not in ("none", "f16", "bf16")


def is_one_round(options: Mapping[str, Any]) -> bool:
    """Whether a step is one call that names all gradients, since one decision is made for all of it."""
    return is_top_k(options) or options.get("quorum", "all") != "all"


def exchange_copies(session: pace.Session, place: Place, tensors: Sequence[torch.Tensor], begin: Callable[[Any], pace.Request]) -> None:
    """Copies tensors to the daemon's memory, completes a verb on it, and copies the results back."""
    with torch.no_grad():
        arena = Arena(session, tensors)
        for tensor, view in zip(tensors, arena.views):
            view.copy_(tensor)
        complete(place, lambda: begin(arena.buffers))
        for tensor, view in zip(tensors, arena.views):
            tensor.copy_(view)


class Round:
    """A call that has begun, and how it is made again. Raises what `begin` raises."""

    def __init__(self, begin: Callable[[], pace.Request]):
        self.begin = begin
        self.request = begin()


def complete_all(place: Place, rounds: Sequence[Round]) -> pace.Info:
    """Ends rounds as complete() ends one, and gives the last one's end.

    If a round is called again, the rounds behind it have ended in the same way, and are called
    again after it. No other round may therefore be begun meanwhile. Raises pace.Stale also where
    one behind it has ended well.
    """
    is_broken = False
    for one in rounds:
        if is_broken:
            _await_failure(one.request)
        info = complete(place, one.begin, begun=None if is_broken else one.request, is_repeated=is_broken)
        is_broken = is_broken or one.request.failed
    return info


def _await_failure(request: pace.Request) -> None:
    try:
        request.wait()
    except pace.Stale:
        raise
    except pace.PaceError:
        return
    raise pace.Stale("a round has ended that came after one which failed: the model is taken anew")
