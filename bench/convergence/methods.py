"""The compared methods of exchanging steps, and the imbalances of the workers."""

import dataclasses

_SPARDL = ["--compression", "spardl", "--dense-fallback", "never", "--teams", 1]
_BACKUP = ["--late", "drop", "--divide-by", "contributors"]


@dataclasses.dataclass(frozen=True)
class Method:
    label: str
    colour: str
    # job(flags): the flags of the trainers beside `--policy all-reduce`.
    job: object
    # Whether every worker waits for every other one. The accuracy is then the same whichever worker
    # is delayed.
    waits: bool = False
    quick: bool = True


METHODS = {
    "dense": Method("dense all-reduce", "black", lambda _: [], waits=True),
    "spardl-global": Method("SparDL, global residuals", "tab:blue",
                            lambda flags: [*_spardl(flags), "--residuals", "global"], waits=True),
    "spardl-partial": Method("SparDL, partial residuals", "tab:cyan",
                             lambda flags: [*_spardl(flags), "--residuals", "partial"], waits=True, quick=False),
    "spardl-local": Method("SparDL, local residuals", "tab:purple",
                           lambda flags: [*_spardl(flags), "--residuals", "local"], waits=True, quick=False),
    "solo": Method("solo", "tab:red", lambda flags: _quorum(flags, "solo")),
    "majority": Method("majority", "tab:green", lambda flags: _quorum(flags, "majority")),
    "majority-strict": Method("strict majority", "tab:olive", lambda flags: _quorum(flags, "majority-strict"),
                              quick=False),
    "backup-1": Method("1 backup worker", "tab:orange", lambda flags: _backup(flags, 1)),
    "backup-2": Method("2 backup workers", "tab:brown", lambda flags: _backup(flags, 2), quick=False),
}


def _spardl(flags):
    return [*_SPARDL, "--density", flags.density]


def _quorum(flags, quorum):
    return ["--quorum", quorum, "--resync-every", flags.resync_every]


def _backup(flags, count):
    return [*_quorum(flags, "count"), *_BACKUP, "--quorum-count", flags.workers - count]


@dataclasses.dataclass(frozen=True)
class Imbalance:
    title: str
    pace: object  # pace(flags): the flags of the trainers


IMBALANCES = {
    "light": Imbalance("light imbalance: one worker delayed in each step",
                       lambda flags: ["--imbalance", "one", "--delay-ms", flags.light_ms]),
    "severe": Imbalance("severe imbalance: worker i delayed by i units, shifting",
                        lambda flags: ["--imbalance", "all", "--delay-ms", flags.severe_ms]),
}


def chosen(flags):
    """The pairs of imbalance and method to run. Some methods wait, so that imbalances change only their time. They run
    under the first imbalance alone, except dense and SparDL proper."""
    return [(imbalance, method) for number, imbalance in enumerate(flags.imbalance) for method in flags.method
            if number == 0 or METHODS[method].quick or not METHODS[method].waits]
