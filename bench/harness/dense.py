"""dense-node and dense-net: float32 all-reduce, in rounds, so that all implementations share the noise."""

import collections
import contextlib
import os
import shutil
import sys
import tempfile

import floors
import processes
from cluster import Cluster
from implementations import ALL
from trial import Case, Trial

KB, MB = 1 << 10, 1 << 20
# The last size is that of many a published model, and no power of two.
BYTES = [4 * KB, 64 * KB, MB, 16 * MB, 64 * MB, 100_000_000]
BYTES_QUICK = [4 * KB, MB, 16 * MB]
NODES = 4


def cases_of(part, arguments):
    sizes = arguments.bytes or (BYTES_QUICK if arguments.quick else BYTES)
    if part == "dense-node":
        shapes = [(1, workers) for workers in (2, 4, 8)]
    else:
        shapes = [(NODES, NODES)] if arguments.quick else [(NODES, NODES), (NODES, 2 * NODES)]
    cases = []
    for nodes, workers in shapes:
        if arguments.workers and workers not in arguments.workers:
            continue
        # Several workers a node matter where the wire does: two sizes tell.
        chosen = sizes if workers != 2 * NODES or nodes == 1 else [size for size in sizes if size in (MB, 16 * MB)]
        cases += [Case(part, nodes, workers, size) for size in chosen]
    return cases


def implementations_of(part, arguments):
    return [one for one in ALL
            if one.bench in (None, part) and one.name in (arguments.implementations or [one.name])]


def run(part, programs, arguments, results):
    cases = cases_of(part, arguments)
    implementations = implementations_of(part, arguments)
    rounds = arguments.rounds or (2 if arguments.quick else 3)
    seconds = 0.15 if arguments.quick else 0.5
    iterations_min = 3
    with Cluster(NODES, arguments.rate) if part == "dense-net" else contextlib.nullcontext() as cluster:
        progress = Progress(part, rounds * len(cases) * len(implementations))
        for case in cases:
            outcomes = collections.defaultdict(list)
            floor = []
            for _ in range(rounds):
                with workspace() as folder:
                    floor += measure_floor(programs, case, folder, cluster, seconds)
                for one in implementations:
                    progress.step(f"{case}: {one.name}")
                    if results.has_failed(case, one.name):
                        continue
                    with workspace() as folder:
                        trial = Trial(case, programs, folder, cluster, seconds, iterations_min)
                        try:
                            outcome = one.run(trial)
                            outcomes[one.name].append(outcome)
                        except processes.Failure as failure:
                            results.add_failure(case, one.name, str(failure))
                            progress.note(f"{case}: {one.name} failed: {failure}")
            results.add_case(case, floor, outcomes)
        progress.end()


def measure_floor(programs, case, folder, cluster, seconds):
    if cluster is None:
        return floors.sum_in_place(programs, case, folder, seconds / 2)
    return [floors.wire_bound(case, [floors.goodput(programs, cluster, folder, seconds)])]


@contextlib.contextmanager
def workspace():
    """A folder for one start, and no process left when it goes."""
    folder = tempfile.mkdtemp(dir=os.environ["PACE_BENCH_DIR"])
    try:
        yield folder
    finally:
        processes.end_orphans()
        shutil.rmtree(folder, ignore_errors=True)


class Progress:
    """One line that is rewritten on a terminal; every tenth part of the work in a log."""

    def __init__(self, part, total):
        self.part = part
        self.total = total
        self.done = 0
        self.live = sys.stdout.isatty()
        print(f"{part}: {total} measurements", flush=True)

    def step(self, text):
        if self.live:
            print(f"\r\033[K{self.part} {self.done + 1}/{self.total}  {text}", end="", flush=True)
        elif self.done * 10 // self.total != (self.done - 1) * 10 // self.total:
            print(f"{self.part} {self.done}/{self.total}  {text}", flush=True)
        self.done += 1

    def note(self, text):
        print(("\r\033[K" if self.live else "") + text, flush=True)

    def end(self):
        if self.live:
            print("\r\033[K", end="", flush=True)
