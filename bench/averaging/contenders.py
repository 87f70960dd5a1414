"""The compared policies, and the settings of the workers' speeds."""

import dataclasses

_OF_2 = ["--group-size", 2]
_OF_3 = ["--group-size", 3]
_OF_5 = ["--group-size", 5]
_DYNAMIC = ["--weights", "dynamic"]
# The policy has a size of its own.
_OWN_SIZE = ["--group-size", 0]


@dataclasses.dataclass(frozen=True)
class Method:
    label: str
    colour: str
    job: tuple  # flags of the trainers
    quick: bool = False


def _method(label, colour, policy, *more, quick=False):
    return Method(label, colour, ("--policy", policy, *(word for words in more for word in words)), quick)


REFERENCE = "all-reduce"

METHODS = {
    REFERENCE: _method("all-reduce", "black", "all-reduce", quick=True),
    "partial-2": _method("partial reduce of 2", "deepskyblue", "partial-reduce", _OF_2),
    "partial-3": _method("partial reduce of 3", "tab:blue", "partial-reduce", _OF_3, quick=True),
    "partial-3-dynamic": _method("partial reduce of 3, dynamic", "tab:cyan", "partial-reduce", _OF_3, _DYNAMIC),
    "partial-5": _method("partial reduce of 5", "navy", "partial-reduce", _OF_5),
    "partial-5-dynamic": _method("partial reduce of 5, dynamic", "slateblue", "partial-reduce", _OF_5, _DYNAMIC),
    "prague-random": _method("Prague, random groups of 3", "tab:brown", "prague-random", _OF_3),
    "prague-smart": _method("Prague, smart groups of 3", "tab:red", "prague-smart", _OF_3, quick=True),
    "prague-static": _method("Prague, static groups", "tab:orange", "prague-static", _OWN_SIZE),
    "ad-psgd": _method("AD-PSGD", "tab:pink", "ad-psgd", _OWN_SIZE),
    "full": _method("average of all", "tab:gray", "full", _OWN_SIZE),
    "auto": _method("auto", "tab:green", "auto", _OWN_SIZE, quick=True),
}


@dataclasses.dataclass(frozen=True)
class Setting:
    title: str
    slow: float  # how many times longer the last worker's steps take
    # The steps for which a worker of the usual speed has time. They let the slowest method reach
    # the target.
    steps: int


SETTINGS = {
    "even": Setting("workers of equal speed", 1, 400),
    "slow-2": Setting("one worker 2 times slower", 2, 400),
    "slow-5": Setting("one worker 5 times slower", 5, 750),
}
