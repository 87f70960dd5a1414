"""Operators: torch's ReduceOp, as sums that Pace makes, or as functions that each worker applies to
all ranks' tensors."""

import functools
from typing import Callable, Dict, Optional, Sequence

import torch
import torch.distributed as dist

from pace.torch.memory import is_exchangeable

Combine = Callable[[Sequence[torch.Tensor]], torch.Tensor]

# A sum of booleans is an "or", and a product an "and", as torch has it.
_PAIRWISE: Dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "SUM": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum,
    "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor,
}
_SUMS = {"SUM": "sum", "AVG": "mean"}


def name_of(op: dist.ReduceOp) -> str:
    """"SUM" and its kin. Raises NotImplementedError for an operator that this backend lacks."""
    for name in (*_PAIRWISE, "AVG"):
        if op == getattr(dist.ReduceOp, name):
            return name
    raise NotImplementedError(f"the backend pace has not the operator {op}; scale the tensor before, and use SUM or AVG")


def verb_of(name: str, dtype: torch.dtype) -> Optional[str]:
    """pace_reduce's word where Pace makes the sum itself; None where workers gather all tensors and combine them."""
    return _SUMS.get(name) if is_exchangeable(torch.empty(0, dtype=dtype)) else None


def combine_of(name: str, dtype: torch.dtype) -> Combine:
    """The function of everyone's tensors, which is exact for integers. Raises NotImplementedError where torch has none."""
    if name not in _PAIRWISE:
        raise NotImplementedError(f"a mean of {dtype} is not defined; use ReduceOp.SUM, or a tensor of floating-point numbers")
    function = _PAIRWISE[name]
    one = torch.ones(1, dtype=dtype)
    try:
        function(one, one)
    except RuntimeError as error:
        raise NotImplementedError(f"ReduceOp.{name} of {dtype}: {error}") from None

    def combine(parts: Sequence[torch.Tensor]) -> torch.Tensor:
        return functools.reduce(function, parts)
    return combine
