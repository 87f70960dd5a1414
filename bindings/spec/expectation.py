"""Expectation: whether an answer is what a step expects."""

from typing import Dict, Iterable, Optional, Tuple

NEAR = 1e-6


def difference(status: str, values: Iterable[Tuple[str, str]], answer_status: str, answer: Dict[str, str]) -> Optional[str]:
    """What is otherwise than expected, in words; None when all is as it should be."""
    if answer_status != status:
        told = f" (argument={answer['argument']})" if "argument" in answer else ""
        return f"{answer_status}{told} instead of {status}"
    for name, wanted in values:
        if name not in answer:
            return f"no {name} in the answer, which should be {wanted}"
        if not matches(wanted, answer[name]):
            return f"{name}={answer[name]} instead of {wanted}"
    return None


def matches(wanted: str, found: str) -> bool:
    if "," in wanted or "," in found:
        parts, others = wanted.split(","), found.split(",")
        return len(parts) == len(others) and all(matches(*pair) for pair in zip(parts, others))
    if wanted == "*":
        return True
    for sign, compare in ((">=", lambda a, b: a >= b), ("<=", lambda a, b: a <= b), ("~", _is_near)):
        if wanted.startswith(sign):
            left, right = number_of(found), number_of(wanted[len(sign):])
            return left is not None and right is not None and compare(left, right)
    left, right = number_of(found), number_of(wanted)
    if left is not None and right is not None:
        return left == right or (left != left and right != right)
    return found == wanted


def _is_near(found: float, wanted: float) -> bool:
    return abs(found - wanted) <= NEAR * max(1.0, abs(wanted))


def number_of(text: str) -> Optional[float]:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None
